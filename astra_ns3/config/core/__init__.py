"""What all configuration models share: documents with line numbers, strict models, reading."""
