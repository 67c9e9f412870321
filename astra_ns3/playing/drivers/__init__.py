"""Drivers: what a run asks of whatever plays its workload, and what those over a system layer share."""
