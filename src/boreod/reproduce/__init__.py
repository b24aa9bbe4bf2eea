"""Every table and figure of the paper, one file each."""

from boreod.reproduce.everything import PARTS, reproduce
from boreod.reproduce.setup import SETS, Settings

__all__ = ["PARTS", "SETS", "Settings", "reproduce"]
