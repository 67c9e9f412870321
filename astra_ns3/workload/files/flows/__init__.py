"""Lists of flows as files."""
