"""Plays the training of a model on roles and communicators, stage by stage."""
