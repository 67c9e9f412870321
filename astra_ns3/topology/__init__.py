"""Descriptions of networks: graphs, their builders, shortest paths, names of ports."""
