"""A run as a trace of Perfetto's, from its records only, streamed."""
