"""The page about one fitted detector: a verdict, its quality, its suspects, its choices."""

from boreod.report.alerts import Workload
from boreod.report.evidence import gather
from boreod.report.over_time import Times
from boreod.report.page import make_report
from boreod.report.quality import Previous

__all__ = ["Previous", "Times", "Workload", "gather", "make_report"]
