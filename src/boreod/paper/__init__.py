"""The paper and comparisons: other methods, data sets, evaluations and the printed tables."""
