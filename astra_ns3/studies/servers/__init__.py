"""Servers: processes that have ns-3 loaded and warm, and fork a child for each point that is to be played.

``server`` is what such a process does; ``warm_server`` starts one and talks to it; ``pool`` keeps a worker's servers.
A server imports nothing of Dask, pandas or pyarrow: ns-3 is GPL-2.0-only, and shares no process with them.
"""
