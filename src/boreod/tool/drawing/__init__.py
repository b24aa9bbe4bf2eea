"""Pictures with matplotlib, an optional package that is imported only when something is drawn."""
