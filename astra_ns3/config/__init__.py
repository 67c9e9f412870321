"""Strict readers: a file becomes a validated, frozen model, or one clear line about what is wrong with it."""
