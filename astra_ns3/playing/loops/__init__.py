"""Training loops as programs: their steps, their order, and users' own loops."""
