"""Graphs of operations and schedules as files, bytes and runs, made for tests."""
