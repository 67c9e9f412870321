"""Chakra's execution traces: a graph for each rank, in protobuf (``.et``) or as JSON, read and written."""
