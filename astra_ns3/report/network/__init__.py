"""Pictures of networks, and what is said of them."""
