"""The file of a trace and its messages unless it is said otherwise."""

FILE = "timeline.pftrace"
MESSAGES = 20_000
"""At most so many messages are in a trace."""
