"""Plans of a model's training on a network: all degrees, bounds on each, and the search for the best."""
