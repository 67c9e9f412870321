"""Workloads as files."""
