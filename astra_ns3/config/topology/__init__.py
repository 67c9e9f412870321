"""Topology keys of a network file, with links, switches and routing."""
