"""Runs of physics are played in the process of their test."""

from __future__ import annotations

from support.in_process import runs_are_played_here  # noqa: F401
