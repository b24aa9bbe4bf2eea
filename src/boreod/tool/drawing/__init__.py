"""Pictures with matplotlib, which is an extra and imported only when something is drawn."""
