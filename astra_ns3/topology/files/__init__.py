"""Graphs in the formats of other programs: read, and written."""
