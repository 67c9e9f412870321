"""The least time that lines allow: bytes that must cross a cut of the network, over the rate of the cut's lines."""
