"""Balanced bags, a classifier on each, one probability."""
