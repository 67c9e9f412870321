"""The variables that people set for NCCL, under their own names."""

from __future__ import annotations

from astra_ns3.frozen import dataclass


@dataclass(frozen=True)
class Environment:
    """What is set; None: not set, so NCCL decides. ``algo`` and ``proto`` are lists in NCCL's own syntax."""

    algo: str | None = None
    proto: str | None = None
    min_ctas: int | None = None
    max_ctas: int | None = None
    min_nchannels: int | None = None
    max_nchannels: int | None = None
    nchannels_per_net_peer: int | None = None
    ib_qps_per_connection: int | None = None
    ib_split_data_on_qps: int | None = None
    pxn_disable: int | None = None
    cross_nic: int | None = None
    nvls_enable: int | None = None
    buffsize: int | None = None
    collnet_enable: int | None = None
    net_gdr_level: str | None = None
    nthreads: int | None = None
    p2p_net_chunksize: int | None = None
    pat_enable: int | None = None
