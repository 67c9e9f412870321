"""The training of a model as numbers: the order of micro-batches in a pipeline, and plans of other sizes."""
