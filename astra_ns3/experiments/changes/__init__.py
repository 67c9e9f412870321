"""Other values of keys of a run's three files."""
