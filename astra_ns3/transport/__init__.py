"""Transports as numbers: what a configuration means, what a packet takes on the wire, what cannot work."""
