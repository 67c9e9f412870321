"""The file of a scenario: jobs that share a network, and what happens in it meanwhile."""
