"""Tests of the displays: what is drawn is what was computed."""
