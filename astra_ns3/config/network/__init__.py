"""The network file: packets or analytical."""
