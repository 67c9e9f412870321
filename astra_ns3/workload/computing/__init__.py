"""How long operations take: clocks by name."""
