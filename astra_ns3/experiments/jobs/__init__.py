"""The kinds of workloads that a run may have, and what it needs of each."""
