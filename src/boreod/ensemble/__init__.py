"""Ensembles of classifiers on balanced bags, averaged to one probability."""
