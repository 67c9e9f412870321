"""The time that messages would take alone on an idle network."""
