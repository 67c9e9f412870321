"""The size of a study that is played unless another is named."""

USUAL_PRESET = "laptop"
