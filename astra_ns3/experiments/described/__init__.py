"""Words for what a run writes: columns of its CSV files and keys of run.json. Pages and docstrings are made of them."""
