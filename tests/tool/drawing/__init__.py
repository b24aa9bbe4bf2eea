"""Tests of pictures: what is drawn is what was computed."""
