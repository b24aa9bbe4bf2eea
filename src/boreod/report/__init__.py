"""The page about one fitted detector: its data, its quality, its choices and its suspects."""

from boreod.report.page import make_report

__all__ = ["make_report"]
