"""What messages would take alone on an idle network."""
