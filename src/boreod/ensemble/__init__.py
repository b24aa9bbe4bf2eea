"""Ensembles of classifiers that are fitted to bags and averaged to one probability."""
