"""The base of all configuration models: documents with line numbers, strict models, reading."""
