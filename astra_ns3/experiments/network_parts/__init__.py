"""Parts of a network that a run asks for: switches that reduce, storage hosts, the graph that has them."""
