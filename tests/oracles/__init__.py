"""Slow reference implementations of the twelve neighbor-based outlier scores."""
