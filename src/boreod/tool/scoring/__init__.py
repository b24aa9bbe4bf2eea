"""Score tables with a model, explain rows, check tables and compare models."""
