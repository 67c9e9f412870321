"""Transport keys of a network file."""
