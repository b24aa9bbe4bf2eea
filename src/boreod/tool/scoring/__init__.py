"""One pipeline from a table and a model to scores, reasons, checks and comparisons."""
