"""Words and pictures of a workload, from its overview."""
