"""The analytical backends: the same executor as ns-3's, with messages that travel by formula."""
