"""The variables that people set for NCCL, under their own names.

A variable is one of three kinds. The fields of :class:`Environment` change what NCCL decides. Variables that only
change logging, start-up or how a device is found have no effect here. All others would change times in a way that is
not modelled: they are refused, unless they are set to NCCL's own default.

Source: NVIDIA/nccl, v2.18.1-1 to v2.30.7-1, ``src/graph/tuning.cc`` (lists of algorithms and protocols, threads),
``src/init.cc``, ``src/graph/connect.cc``, ``src/graph/paths.cc`` (levels), ``src/misc/param.cc`` (numbers), and every
``NCCL_PARAM`` and ``ncclGetEnv`` of v2.30.7-1 for names and defaults.

Model limits: the rules of lists are those from 2.24 on. Versions before had no words of functions, and passed over
words that they didn't know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from astra_ns3.errors import Location, in_range, nearest, of_type, refuse, unknown, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.nccl.constants import ALGORITHMS, FUNCTIONS, PROTOCOLS

Kind = Literal["algo", "proto"]
Level = Literal["LOC", "PIX", "PXB", "PHB", "SYS"]
Value = str | int | float | None
"""A value that a YAML file or an environment can hold for a variable; fractions, truths and nothing are refused."""

_PREFIX = "NCCL_"
_WORDS: Mapping[str, tuple[str, ...]] = {"algo": ALGORITHMS, "proto": PROTOCOLS}
_LEVEL = "net_gdr_level"
_LEVELS: tuple[Level, ...] = ("LOC", "PIX", "PXB", "PHB", "SYS")
_LAST_LEVEL = 5  # NCCL's old numbers: 4 and 5 are both SYS
_CHANNELS = (1, 64)  # NCCL's MAXCHANNELS; 32 up to 2.24
_BUFFER = (4096, (1 << 31) - 1)
_WARP = 32
RANGES: Mapping[str, tuple[int, int]] = {
    "min_ctas": _CHANNELS,
    "max_ctas": _CHANNELS,
    "min_nchannels": _CHANNELS,
    "max_nchannels": _CHANNELS,
    "nchannels_per_net_peer": _CHANNELS,
    "ib_qps_per_connection": (1, 128),
    "ib_split_data_on_qps": (0, 1),
    "pxn_disable": (0, 1),
    "cross_nic": (0, 2),
    "nvls_enable": (0, 2),
    "buffsize": _BUFFER,
    "collnet_enable": (0, 1),
    "nthreads": (2 * _WARP, 512),
    "p2p_net_chunksize": _BUFFER,
    "pat_enable": (0, 2),
}
"""The least and the largest number of each field that is a number."""
HEEDED = frozenset(f"{_PREFIX}{field.upper()}" for field in (*_WORDS, *RANGES, _LEVEL))
"""The variables that change what NCCL decides."""
# Logging, start-up, memory handles, which device or address is taken, what kernels of one's own use (GIN, RMA), and
# adaptive routing, which is the network file's.
_WITHOUT_EFFECT = frozenset(
    re.findall(
        r"\S+",
        """
    ALLOC_P2P_NET_LL_BUFFERS ASYNC_ERROR_HANDLING BLOCKING_WAIT CHECK_MODE CHECK_POINTERS COMM_BLOCKING COMM_ID
    COMM_SHRINK_SHARE_RESOURCES COMM_SPLIT_SHARE_RESOURCES CONF_FILE CONNECT_ROUND_MAX_PEERS CREATE_THREAD_CONTEXT
    CUDA_PATH CUMEM_ENABLE CUMEM_HOST_ENABLE DEBUG DEBUG_FILE DEBUG_SUBSYS DEBUG_TIMESTAMP_FORMAT
    DEBUG_TIMESTAMP_LEVELS DESYNC_DEBUG DEV_API_JIT DISABLE_MEM_MANAGER DMABUF_ENABLE ENABLE_VERSION_CHECK ENV_PLUGIN
    GDAKI_USE_RELIABLE_DB GIN_ENABLE GIN_ERROR_QUERY_SEC GIN_GDAKI_MAX_DEST_RD_ATOMIC GIN_GDAKI_MAX_QP_RD_ATOMIC
    GIN_GDAKI_NIC_HANDLER GIN_GDAKI_QP_DEPTH GIN_IB_TC GIN_NCONNECTIONS GIN_PLUGIN GIN_PLUGIN_REF_COUNT
    GIN_PROXY_QUEUE_SIZE GIN_TYPE GRAPH_DUMP_FILE GRAPH_DUMP_FILE_RANK HOSTID IBVERBS_LIB IB_ADAPTIVE_ROUTING
    IB_ADDR_FAMILY IB_ADDR_RANGE IB_ECE_ENABLE IB_GID_INDEX IB_HCA IB_MQP_RETRY_ALL IB_MQP_RETRY_CNT
    IB_MQP_RETRY_SLEEP_MSEC IB_PKEY
    IB_RESILIENCY_PORT_FAILOVER_MAX_ATTEMPTS IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY
    IB_RESILIENCY_PORT_RECOVERY_ACK_TIMEOUT IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_INTERVAL
    IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_SIZE IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_SEQUENCE_SIZE
    IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_TIMEOUT IB_RESILIENCY_PORT_RECOVERY_ATTEMPTS_MAX
    IB_RESILIENCY_PORT_RECOVERY_START_DELAY IB_RETRY_CNT IB_RETURN_ASYNC_EVENTS IB_ROCE_VERSION_NUM
    IB_ROUTABLE_FLID_GID_INDEX IB_SUBNET_PREFIX_LEN IB_TIMEOUT IB_WARN_RAIL_LOCAL IGNORE_NET_MISMATCH
    IPC_USE_ABSTRACT_SOCKET LAUNCH_RACE_FATAL MNNVL_CLIQUE_ID MNNVL_UUID NET_PLUGIN_REF_COUNT NUM_RMA_CTX NVTX_DISABLE
    OOB_NET_ENABLE OOB_NET_IFNAME PROFILER_PLUGIN PROXY_DUMP_SIGNAL PROXY_PROFILE RAS_ADDR RAS_ENABLE
    RAS_TIMEOUT_FACTOR REPORT_CONNECT_PROGRESS RMA_DISABLE RMA_PLUGIN RMA_PLUGIN_REF_COUNT RMA_PROXY_DUMP_SIGNAL
    RMA_PROXY_QUEUE_SIZE RUNTIME_CONNECT SET_CPU_STACK_SIZE SET_STACK_SIZE SET_THREAD_NAME SHADOW_MEMPOOL_MAX_SIZE
    SOCKET_FAMILY SOCKET_IFNAME SOCKET_MAGIC SOCKET_POLL_TIMEOUT_MSEC SOCKET_RETRY_CNT SOCKET_RETRY_SLEEP_MSEC
    SYM_REUSE_SYSMEM_HANDLES TOPO_DUMP_FILE TOPO_DUMP_FILE_RANK UID_STAGGER_RATE UID_STAGGER_THRESHOLD
    WARN_ENABLE_DEBUG_INFO WIN_STRIDE
    """,
    )
)
# Variables that would change times, with NCCL's default if that is a number: so set, they change nothing.
_NOT_MODELLED: Mapping[str, str] = dict(
    re.findall(
        r"(\w+)=?(\S*)",
        """
    AGG_CHANNEL_SIZE ALLGATHERV_ENABLE=1 CGA_CLUSTER_SIZE CHUNK_SIZE=0 COLLNET_NODE_THRESHOLD=2 CTA_POLICY=DEFAULT
    ELASTIC_BUFFER_REGISTER=1 GDRCOPY_ENABLE=0 GDRCOPY_FIFO_ENABLE=1 GDRCOPY_FLUSH_ENABLE=0 GDRCOPY_SYNC_ENABLE=1
    GDR_FLUSH_DISABLE=0 GRAPH_FILE GRAPH_HELPER_DISABLE=0 GRAPH_MIXING_SUPPORT GRAPH_REGISTER=1 GRAPH_STREAM_ORDERING
    GROUP_CUDA_STREAM IB_AR_THRESHOLD=8192 IB_DATA_DIRECT=1 IB_DEVICE_PCI_ORDER=1 IB_DISABLE=0 IB_FIFO_TC
    IB_MERGE_NICS=1 IB_MERGE_VFS=1 IB_OOO_RQ=0 IB_PCI_RELAXED_ORDERING=2 IB_PREPOST_RECEIVE_WORK_REQUESTS
    IB_QUERY_PORT_SPEED=1 IB_RECEIVER_SIDE_MATCHING_SCHEME IB_RESILIENCY_PORT_FAILOVER=0 IB_RESILIENCY_PORT_RECOVERY=0
    IB_SL IB_SUBNET_AWARE_ROUTING=0 IB_TC IB_USE_INLINE=0 IGNORE_COLLNET_MISMATCH=0 IGNORE_CPU_AFFINITY=0
    IGNORE_DISABLED_P2P=0 L1_SHARED_MEMORY_CARVEOUT=0 LAUNCH_MODE LAUNCH_ORDER_IMPLICIT=0 LEGACY_CUDA_REGISTER=0
    LL128_BUFFSIZE LL128_C2C=1 LL128_NTHREADS LL_BUFFSIZE LOCAL_REGISTER=1 LSA_TEAM_SIZE=0 MAX_NRINGS
    MAX_P2P_NCHANNELS MEM_SYNC_DOMAIN MIN_NRINGS MIN_P2P_NCHANNELS=1 MLOPART_RDMA_ENABLE=0 MNNVL MNNVL_CROSS_CLIQUE=0
    MNNVL_ENABLE=2 MNNVL_RAIL_PER_HOST=0 MNNVL_SCATTER_NETS_ENABLE=1 MULTI_RANK_GPU_ENABLE=0 MULTI_SEGMENT_REGISTER=1
    NET NETDEVS_POLICY NET_DISABLE_INTRA=0 NET_FORCE_FLUSH=0 NET_FORCE_MERGE NET_GDR_C2C=1 NET_GDR_MLOPART=0
    NET_GDR_READ NET_MERGE_LEVEL NET_MERGE_POLICY NET_OPTIONAL_RECV_COMPLETION=1 NET_OVERHEAD NET_PLUGIN
    NET_SHARED_BUFFERS NET_SHARED_COMMS=1 NSOCKS_PERTHREAD NVB_DISABLE=0 NVB_PRECONNECT=1
    NVLINK_UTIL_CENTRIC_SCHED_ENABLE NVLSTREE_MAX_CHUNKSIZE NVLS_CHUNKSIZE=131072 NVLS_NCHANNELS P2P_DIRECT_DISABLE=0
    P2P_DISABLE=0 P2P_EPOCH_ENABLE=1 P2P_LEVEL P2P_LL_THRESHOLD=16384 P2P_MAX_PEERS P2P_NVL_CHUNKSIZE=524288
    P2P_PCI_CHUNKSIZE=131072 P2P_PER_CHANNEL_NET_BW=14 P2P_PXN_LEVEL=2 P2P_READ_ENABLE P2P_SCHEDULE_GROUP_SIZE
    P2P_USE_CUDA_MEMCPY=0 PROGRESS_APPENDOP_FREQ=8 PROXY_APPEND_BATCH_SIZE=16 PROXY_CPUSET PXN_C2C=1 SHM_DISABLE=0
    SHM_LOCALITY SHM_MEMCPY_MODE SHM_USE_CUDA_MEMCPY=0 SINGLE_PROC_MEM_REG_ENABLE=0 SINGLE_RING_THRESHOLD
    SOCKET_INLINE=128 SOCKET_MIN_TASKSIZE=65536 SOCKET_NTHREADS SOCKET_RCVBUF SOCKET_SNDBUF SYM_CE_THRESHOLD
    SYM_CTAS=0 SYM_GIN_KERNELS_ENABLE=1 SYM_KERNEL SYM_NOWIN_ENABLE=0 SYM_RS_GIN_CHUNK_SIZE SYM_TMA_ENABLE=0
    THREAD_THRESHOLDS TOPO_FILE TOPO_SPLIT_MLOPART=1 TREE_THRESHOLD TUNER_PLUGIN UNPACK_DOUBLE_NCHANNELS=1
    WIN_ENABLE=1 WORK_ARGS_BYTES WORK_FIFO_BYTES WORK_FIFO_DEPTH
    """,
    )
)
# What to say instead of some variables that aren't modelled.
_INSTEAD: Mapping[str, str] = {
    "MIN_NRINGS": "set NCCL_MIN_NCHANNELS",
    "MAX_NRINGS": "set NCCL_MAX_NCHANNELS",
    "IB_DISABLE": "say of the network that it is NCCL's sockets",
    "NET": "say of the network whether it is NCCL's sockets",
}


@dataclass(frozen=True)
class Environment:
    """NCCL's variables that are set; None: not set, so NCCL decides. A field is the variable in small letters, without
    ``NCCL_``.

    ``algo`` and ``proto`` are lists as NCCL reads them, see :meth:`listed`. ``without_effect``: the variables that were
    set and change nothing here, by their full names; those set to NCCL's own default are done and don't count.
    """

    algo: str | None = None
    """Algorithms, as `Ring,Tree`, `^Tree` (all but this), or `ring;allreduce:tree` (for one collective). Read by the
    rules since 2.24, whatever the version."""
    proto: str | None = None
    """Protocols, LL, LL128 and Simple, as a list of the same form."""
    min_ctas: int | None = None
    """Least channels."""
    max_ctas: int | None = None
    """Most channels."""
    min_nchannels: int | None = None
    """Least channels, by the older name."""
    max_nchannels: int | None = None
    """Most channels, by the older name."""
    nchannels_per_net_peer: int | None = None
    """Channels of send/recv and all-to-all for each peer on another server."""
    ib_qps_per_connection: int | None = None
    """Queue pairs of each channel, as RoCE's `queue_pairs_per_pair`."""
    ib_split_data_on_qps: int | None = None
    """Whether messages are split over them, as RoCE's `queue_pair_use`."""
    pxn_disable: int | None = None
    """Whether the search of channels may not use the NIC of another GPU."""
    cross_nic: int | None = None
    """Whether rings and trees may use different NICs on different servers."""
    nvls_enable: int | None = None
    """Whether NVSwitches add up; 0 forbids it."""
    buffsize: int | None = None
    """Bytes of a channel's buffer with Simple."""
    collnet_enable: int | None = None
    """1 lets switches between servers reduce (CollNet, SHARP), where the network file says that they can."""
    net_gdr_level: Level | None = None
    """How far a NIC may be from a GPU that it reads: LOC, PIX, PXB, PHB, SYS, or the old numbers."""
    nthreads: int | None = None
    """Threads of a channel."""
    p2p_net_chunksize: int | None = None
    """Bytes of a chunk of send/recv between servers."""
    pat_enable: int | None = None
    """Whether PAT may be chosen; 0 forbids it."""
    without_effect: tuple[str, ...] = ()

    def listed(self, kind: Kind, function: str) -> frozenset[str] | None:
        """Return the algorithms (``algo``) or protocols (``proto``) that are listed for a function such as AllReduce.

        None: the variable says nothing of it. Then NCCL allows every algorithm, and LL128 only where its own rule does.
        """
        text: str | None = getattr(self, kind)
        return parse_list(kind, text or "").get(function)


def parse_list(kind: Kind, text: str, where: Location = "") -> dict[str, frozenset[str]]:
    """Return the allowed words, for each function that a list says something of.

    ``ring,tree``: these. ``^tree``: all but these. ``ring;allreduce:tree``: ring, and tree for AllReduce; a later entry
    replaces an earlier one. Letters can be large or small. Raises InputError where NCCL would stop.
    """
    allowed: dict[str, frozenset[str]] = {}
    for place, entry in enumerate(entry for entry in text.split(";") if entry):
        function, colon, listed = entry.rpartition(":")
        if not colon and place:
            raise wrong(f"entry '{entry}' has no function, expected one before ':' in every entry but the first", where)
        functions = [_word("function", function, tuple(FUNCTIONS.values()), where)] if colon else FUNCTIONS.values()
        allowed |= dict.fromkeys(functions, _words(kind, listed, where))
    return allowed


def _word(what: str, text: str, known: tuple[str, ...], where: Location) -> str:
    for name in known:
        if name.lower() == text.lower():
            return name
    raise unknown(what, text, known, where)


def _words(kind: Kind, text: str, where: Location) -> frozenset[str]:
    what, known = "algorithm" if kind == "algo" else "protocol", _WORDS[kind]
    words = frozenset(_word(what, word, known, where) for word in text.removeprefix("^").split(",") if word)
    left = frozenset(known) - words if text.startswith("^") else words
    if not left:
        raise wrong(f"list '{text}' allows nothing, expected one or more of {', '.join(known)}", where)
    return left


def parse_environment(variables: Mapping[str, Value], where: Location = "") -> Environment:
    """Return what is set, from NCCL's own names and values, which are text or numbers; raises InputError.

    An empty text is the same as not set, as in NCCL.
    """
    texts, numbers, level, without_effect = dict[str, str](), dict[str, int](), None, list[str]()
    for name, value in variables.items():
        field, at = _field(name, where), f"{where}: {name}" if str(where) else name
        if value == "":
            continue
        if field in _WORDS:
            texts[field] = _list(field, value, at)
        elif field in RANGES:
            numbers[field] = _in_range(field, value, at)
        elif field == _LEVEL:
            level = _level(value, at)
        else:
            without_effect += [name] if _has_no_effect(name, value, where) else []
    _check_order(numbers, where)
    algo, proto = texts.get("algo"), texts.get("proto")
    return Environment(algo, proto, net_gdr_level=level, without_effect=tuple(without_effect), **numbers)


def _field(name: str, where: Location) -> str:
    fields = [field.upper() for field in (*_WORDS, *RANGES, _LEVEL)]
    known = [_PREFIX + word for word in (*fields, *sorted(_WITHOUT_EFFECT), *_NOT_MODELLED)]
    if name in known:
        return name.removeprefix(_PREFIX).lower()
    raise wrong(f"found {name!r}, expected a variable of NCCL such as NCCL_ALGO{nearest(name, known)}", where)


def _has_no_effect(name: str, value: Value, where: Location) -> bool:
    """Return whether a variable changes nothing here, but may where NCCL runs; refuse it if it would change times."""
    short = name.removeprefix(_PREFIX)
    if short in _WITHOUT_EFFECT:
        return True
    if str(value) == _NOT_MODELLED[short] != "":
        return False
    default, instead = _NOT_MODELLED[short], _INSTEAD.get(short, "leave it out")
    also = f" or set it to {default}, NCCL's default" if default else ""
    raise wrong(f"{name} is not modelled and would change times, found {value!r}; {instead}{also}", where)


def _list(field: str, value: Value, where: Location) -> str:
    text = of_type(value, str, f"found {value!r}, expected a list such as {_WORDS[field][1]}", where)
    parse_list("algo" if field == "algo" else "proto", text, where)
    return text


def _in_range(field: str, value: Value, where: Location) -> int:
    number = _number(value, where)
    in_range("value", number, *RANGES[field], where=where)
    refuse(field == "nthreads" and number % _WARP > 0, f"value is {number}, expected a multiple of {_WARP}", where)
    return number


def _level(value: Value, where: Location) -> Level:
    """Return the word; an old number (0 to 5) becomes the word it stands for."""
    for level in _LEVELS:
        if value == level:  # NCCL passes over words in small letters
            return level
    if isinstance(value, str) and not value[:1].isdigit():
        raise unknown("level", value, _LEVELS, where)
    number = _number(value, where)
    in_range("value", number, 0, _LAST_LEVEL, where)
    return _LEVELS[min(number, len(_LEVELS) - 1)]


def _number(value: Value, where: Location) -> int:
    """Return a whole number, in text as C reads it: 64, 0x40 or 0100."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if re.fullmatch(r"[+-]?0[0-7]{1,20}", text):
        return int(text, 8)
    if re.fullmatch(r"[+-]?([0-9]{1,20}|0[xX][0-9a-fA-F]{1,16})", text):
        return int(text, 16 if "x" in text.lower() else 10)
    raise wrong(f"found {value!r}, expected a whole number", where)


def _check_order(numbers: Mapping[str, int], where: Location) -> None:
    for what in ("ctas", "nchannels"):
        least, most = numbers.get(f"min_{what}"), numbers.get(f"max_{what}")
        if least is not None and most is not None and least > most:
            names = f"NCCL_MIN_{what.upper()} is {least}", f"NCCL_MAX_{what.upper()} {most}"
            raise wrong(f"{names[0]} and {names[1]}, expected the least not above the largest", where)
