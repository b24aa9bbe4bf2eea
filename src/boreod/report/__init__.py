"""The page about one fitted detector: its data, its quality, its choices and its suspects."""

from boreod.report.making import make_report

__all__ = ["make_report"]
