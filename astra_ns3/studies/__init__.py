"""Studies: many runs described by one file, played by many workers, kept in a store, drawn."""
