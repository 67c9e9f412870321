"""RoCE: what its keys come to on a network, and what can hardly be meant."""
