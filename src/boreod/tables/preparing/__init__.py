"""From columns of a table to a matrix of numbers."""
