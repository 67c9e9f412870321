"""Random runs across all features, each in a process of its own, and an audit of what each of them left behind."""
