"""The outlier representation: raw columns and many outlier scores, side by side."""
