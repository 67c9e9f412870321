"""Training loops as descriptions: which NPUs a layer's passes put together, and which rows a micro-batch has."""
