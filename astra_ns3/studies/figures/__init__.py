"""Figures of studies: a kind is a file here and a line in the registry."""
