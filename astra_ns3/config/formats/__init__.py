"""Files of other programs: graphs, HPCC's texts, ASTRA-sim's analytical networks."""
