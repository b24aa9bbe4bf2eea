"""From files to batches of typed columns."""
