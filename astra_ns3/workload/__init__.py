"""Training loops, and the driver that runs them on every NPU."""
