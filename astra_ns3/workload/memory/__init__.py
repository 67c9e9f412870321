"""What the NPUs of each stage of a training keep in their memory, from its plan and schedule alone. Pure."""
