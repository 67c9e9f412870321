"""Transformers: attention, feed-forward networks, experts, and both ends, as an NPU has them."""
