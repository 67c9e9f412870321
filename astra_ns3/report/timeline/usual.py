"""The file of a trace and its messages unless it is said otherwise, and how its name may end."""

FILE = "timeline.pftrace"
KINDS = ("", ".pftrace", ".perfetto-trace")
MESSAGES = 20_000
"""At most so many messages are in a trace."""
