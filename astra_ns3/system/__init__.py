"""The choice of what runs next on each NPU: chunking, scheduling policies, launch order."""
