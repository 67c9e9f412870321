"""The ns-3 backend: every message as packets, described from the plan of its network."""
