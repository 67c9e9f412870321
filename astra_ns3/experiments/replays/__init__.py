"""Runs played again with a change."""
