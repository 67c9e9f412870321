"""The ns-3 backend. Only ``_runtime`` imports cppyy."""
