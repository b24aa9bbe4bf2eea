"""The page about one fitted detector: verdict, quality, suspicious rows, columns, prices."""
