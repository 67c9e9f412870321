"""Transports: what their keys come to on a network, what a packet takes on the wire, what cannot work."""
