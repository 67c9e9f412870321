"""Pictures of runs, from their records only: a kind is a file here and a line in ``kinds.py``."""
