"""NCCL's decisions, as pure functions of a server, a number of servers, a version and the environment.

NCCL: NVIDIA's library of collectives. Nothing here plays or waits: :mod:`astra_ns3.system` plays what is decided.
Two kinds of constants are kept apart. The *beliefs* of NCCL's tuner on widths and latencies only choose
(:mod:`astra_ns3.nccl.tuning`). The *speed* of copying kernels, proxies and links slows messages
(:mod:`astra_ns3.nccl.copying`).
"""
