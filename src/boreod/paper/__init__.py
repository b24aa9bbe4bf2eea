"""Reproduce the paper and compare methods: baselines, data sets, evaluation, printed tables."""
