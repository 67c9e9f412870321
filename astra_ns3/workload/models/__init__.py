"""Models by their numbers: what each NPU computes, exchanges and keeps."""
