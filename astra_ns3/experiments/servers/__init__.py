"""Servers: processes that have ns-3 loaded and warm, and fork a child for each run.

``server`` is what such a process does. ``warm_server`` starts one and talks to it; ``session`` keeps those of
an interpreter, in which runs are called one after the other or side by side.
A server imports nothing of Dask, pandas or pyarrow: ns-3 is GPL-2.0-only, and shares no process with them.
"""
