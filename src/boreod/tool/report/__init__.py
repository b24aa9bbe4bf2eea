"""The page about one fitted detector: a verdict, its quality, its suspects, its choices."""
