"""Budgets: the bandwidth of each dimension that is best for workloads under a cost."""
