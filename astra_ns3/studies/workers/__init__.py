"""Workers: processes that play a study's points, one each at a time, with pandas and pyarrow and without ns-3.

``contract`` is what the engine needs of them. ``local`` starts some on this machine, each at the end of a socket that
has no name and that only the two processes hold; ``local_worker`` is such a process. ``cluster`` asks the workers of
a Dask scheduler instead, which call ``dask_worker``.
"""
