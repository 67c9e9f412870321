"""A plan for each of several clusters: keys of the files are varied, and the best plans stand beside each other."""
