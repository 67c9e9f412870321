"""The page's figures, from records only: a file each, and a line in ``registry.py``."""
