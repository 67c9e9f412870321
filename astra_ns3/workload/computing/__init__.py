"""How long operations take: clocks by name, and what slows an NPU down."""
