"""Every table and figure of the paper."""

from boreod.reproduce.parts import PARTS, reproduce
from boreod.reproduce.setup import SETS, Settings

__all__ = ["PARTS", "SETS", "Settings", "reproduce"]
