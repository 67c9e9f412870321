"""Graphs as other programs write them: read as they are, then completed to what a network needs."""
