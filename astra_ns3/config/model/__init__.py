"""Keys of a model file: a model by its numbers, how it is trained, and how it is cut over NPUs."""
