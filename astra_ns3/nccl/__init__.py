"""NCCL's decisions, as pure functions of a server, a number of servers, a version and the environment.

NCCL: NVIDIA's library of collectives. Nothing here plays or waits: :mod:`astra_ns3.system` plays what is decided.
Two kinds of constants are kept apart. What NCCL's tuner *believes* of widths and latencies only chooses
(:mod:`astra_ns3.nccl.tuning`); what copying kernels, proxies and links *can do* slows messages
(:mod:`astra_ns3.nccl.copying`).
"""
