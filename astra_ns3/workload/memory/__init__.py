"""The memory of the NPUs of each stage of a training, from its plan and schedule alone. Pure."""
