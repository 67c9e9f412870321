"""How many passes a job plays that never ends by itself."""

from __future__ import annotations

FOREVER = 2**40
"""More passes than any run comes to: whoever plays so many goes on until somebody stops it."""
