"""What other programs write: graphs, HPCC's texts, ASTRA-sim's analytical networks."""
