"""The page about one fitted detector: a verdict, its quality, its suspects, its choices."""

from boreod.tool.report.alerts import Workload
from boreod.tool.report.evidence import gather
from boreod.tool.report.over_time import Times
from boreod.tool.report.page import make_report
from boreod.tool.report.quality import Previous

__all__ = ["Previous", "Times", "Workload", "gather", "make_report"]
