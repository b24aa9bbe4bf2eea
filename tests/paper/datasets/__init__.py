"""Tests of the catalogue, on any machine; with BOREOD_DATA also against the real files."""
