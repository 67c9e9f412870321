"""Plays the training of a model on roles and communicators: orders of micro-batches, who exchanges what with whom."""
