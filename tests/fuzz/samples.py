"""Good inputs of every format, to be mutated, and a user's Python, good and bad."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping

from support.graphs import chakra_bytes
from support.graphs.msccl_programs import ring_all_reduce
from support.small_run import SYSTEM

from astra_ns3.collectives.lookup import lookup
from astra_ns3.collectives.schedule_columns import csv_text, json_text
from astra_ns3.config.core.collective_kind import CollectiveKind

_LAYERS = (
    "2\nfirst -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 4000 10\nsecond -1 20 ALLGATHER 800 9 NONE 0 2 ALLREDUCE 80 0\n"
)
WORKLOADS = {
    "data.txt": f"DATA\n{_LAYERS}",
    "micro.txt": "MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 4000 0\n",
    "dlrm.txt": f"HYBRID_DLRM 0\n{_LAYERS}",
    "transformer.txt": f"HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n{_LAYERS}",
    "own.txt": f"mine.py:loop\n{_LAYERS}",
    "simai.txt": "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 2 pp: 1 vpp: 2 ga: 1 checkpoints: 1 0"
    " checkpoint_initiates: 1 1 pp_comm: 0\n2"
    "\nnorm\t-1\t1\tALLGATHER\t800\t1\tBROADCAST\t80\t1\tREDUCESCATTER_DP_EP\t80\t1"
    "\nmlp -1 20 ALLTOALL_EP 800.0 9 NONE 64 2 ALLREDUCE 80 0",
    "stages.txt": "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 pp: 2 ga: 2 pp_comm 80.0\n4\n"
    + "first -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 4000 10\nsecond -1 20 ALLGATHER 800 9 NONE 0 2 ALLREDUCE 80 0\n"
    * 2,
    "flows.csv": "source,destination,bytes,start,after\n0,1,1KB,0,\n1,2,500,10us,\n2,3,7,,0;1\n3,0,2MB,5ns,2\n",
    "flow.txt": "3\n0 1 3 100 1000 2.000000123\n1 2 3 100 77 2.5\n3 0 3 100 9 1e-6\n",
    "flows.cm": "Nodes 4\nConnections 3\nTriggers 2\n0->1 id 1 start 0 size 2000 send_done_trigger 1\n"
    "1->2 id 2 trigger 1 size 100 recv_done_trigger 2\n2->3 id 3 trigger 2 size 7\n"
    "trigger id 1 oneshot\ntrigger id 2 barrier count 1\n",
}
LOGS = {
    "nccl.log": "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807\n"
    "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 2 minBytes 8\n# Using devices\n"
    "#  Rank  0 Group  0 Pid   1584 on one device  0 [0000:0f:00] NVIDIA H100\n"
    "#  Rank  1 Group  0 Pid   1584 on one device  1 [0000:15:00] NVIDIA H100\n"
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    "# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)\n"
    "8 2 float sum -1 10.00 0.00 0.00 0 9.50 0.00 0.00 0\n"
    "1048576 262144 float sum -1 20.00 52.43 52.43 0 19.00 55.19 55.19 0\n"
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 41.6411\n#\n",
    "nccl.csv": "# all_reduce; 2 nodes x 8 GPUs; NCCL 22902\n"
    "size_bytes,count,type,redop,oop_time_us,oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps\n"
    "65536,16384,float,sum,50.1,1.31,2.45,,,\n1048576,262144,float,sum,90.2,11.63,21.8,91,11.5,21.6\n",
}
SYSTEMS = {
    "system.txt": SYSTEM,
    "nccl.yaml": "collectives: nccl\nnccl: {version: '2.26', server: dgx-h100, channels: each,\n"
    "  host-overhead: {LL: 2},\n"
    "  NCCL_ALGO: 'Ring,Tree;allreduce:^NVLS', NCCL_PROTO: ^LL128, NCCL_MIN_NCHANNELS: 4,\n"
    "  NCCL_IB_QPS_PER_CONNECTION: 2}\n",
    "system.yaml": SYSTEM
    + "intra-dimension-scheduling: SCF\ninter-dimension-scheduling: themis\ninjection-scale: 1.5\n",
    "own.yaml": SYSTEM.replace("implementation: ring", "implementation: ['file:ring.csv']"),
    "parts.txt": SYSTEM.replace("all-reduce-implementation: ring", "all-reduce-implementation: mine.py:algorithm")
    + "intra-dimension-scheduling: mine.py:place\n",
    "graphs.json": json.dumps(
        {
            "scheduling-policy": "LIFO",
            "endpoint-delay": 10,
            "active-chunks-per-dimension": 1,
            "preferred-dataset-splits": 2,
            **{f"{kind}-implementation": ["ring"] for kind in ("all-gather", "reduce-scatter", "all-to-all")},
            "all-reduce-implementation-custom": ["ring"],
            "local-mem-bw": 1600.5,
            "peak-perf": 900,
            "roofline-enabled": 1,
        },
        indent=1,
    ),
}
SCENARIOS = {
    "jobs.yaml": """network: leaves.yaml
jobs:
- name: one
  workload: data.txt
  system: system.txt
  npus: [0, 2]
  set: {workload.layers.0.forward.compute_ns: 5, system.scheduling-policy: FIFO}
- name: other
  workload: micro.txt
  system: system.txt
  npus: {place: random, count: 2, seed: 3}
  start: 5us
  passes: 2
  dimensions: [2]
events:
- {at: 10us, link: [leaf 0, spine 1], up: false, for: 5us, every: 20us, times: 3}
- {at: 1us, nic: 2, rate: 50%, delay: 2us}
- {at: 20us, switch: spine 0, up: false}
""",
    "traffic.yaml": """network: leaves.yaml
jobs:
- {name: one, workload: data.txt, system: system.txt, npus: [0, 2]}
traffic:
- {name: web, kind: poisson, sizes: 2KB, load: 0.3, cut: racks, rack-local: 0.5, npus: [0, "1-3"]}
- {name: bursts, kind: incast, sizes: 10KB, senders: 2, interval: 5us, start: 1us, end: 40us}
- {name: turns, kind: on-off, sizes: 4KB, rate: 10Gbps, on: 10us, off: 5us, flows: 9, seed: 3}
- {name: steady, kind: constant, sizes: storage, load: 0.1, cut: leaf, end: 50us}
""",
    "arrivals.yaml": """network: leaves.yaml
arrivals: {file: arrivals.csv, system: system.txt, placement: spread}
jobs:
- {name: one, workload: data.txt, system: system.txt, npus: 3}
events:
- {at: 10us, link: [leaf 0, spine 1], up: false, for: 5us}
""",
    "alone.yaml": """jobs:
- {name: all, workload: micro.txt, system: system.txt, seed: 4}
events:
- {at: 0, link: [host 1, switch 0], error-rate: 0.01, for: 30us}
- {at: 3us, npu: 1, up: false, for: 1us}
""",
}
TABLES = {
    "arrivals.csv": """time,npus,workload,passes,name,dimensions
0,2,micro.txt,2,,
5us,3,data.txt,1,wide,3
5us,1,micro.txt,1,small,
""",
}
"""Tables that a scenario names, by the file."""
_LINK = "link: {rate: 100Gbps, delay: 500ns}"
_SWITCH = "switch: {buffer: 1MB, ecn: {kmin: 50KB, kmax: 200KB, pmax: 0.2}, pfc: {}}"
_HPCC_CONFIG = """ENABLE_QCN 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE hpcc.txt
CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 900
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 50Mb/s
RATE_HAI 100Mb/s
MIN_RATE 200Mb/s
DCTCP_RATE_AI 700Mb/s
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 1
GLOBAL_T 0
VAR_WIN 1
FAST_REACT 1
U_TARGET 0.9
MI_THRESH 2
MULTI_RATE 0
PINT_LOG_BASE 1.02
PINT_PROB 0.5
RATE_BOUND 1
KMAX_MAP 3 100000000000 1600 200000000000 2400 400000000000 3200
KMIN_MAP 3 100000000000 400 200000000000 600 400000000000 800
PMAX_MAP 3 100000000000 0.2 200000000000 0.2 400000000000 0.2
BUFFER_SIZE 32
"""
NETWORKS = {
    "single.yaml": f"topology:\n  kind: single-switch\n  npus: 4\n  {_LINK}\n  {_SWITCH}\n"
    "transport:\n  kind: tcp\n  ecn: on\n",
    "roce.yaml": f"topology:\n  kind: ring\n  npus: 4\n  {_LINK}\n  {_SWITCH}\n"
    "transport:\n  kind: roce\n  congestion_control: {kind: dcqcn}\n  reliability: {kind: selective-repeat}\n"
    "observe: {queues: [all], queue_pairs: [rate]}\n",
    "leaves.yaml": f"topology:\n  kind: leaf-spine\n  leaves: 2\n  spines: 2\n  hosts_per_leaf: 2\n"
    f"  {_LINK}\n  {_SWITCH}\n"
    "  routing: {kind: spray}\ntransport: roce\n",
    "hierarchical.yaml": f"topology:\n  kind: file\n  path: hpcc.txt\n  {_SWITCH}\ntransport: roce\n",
    "gml.yaml": f"topology:\n  kind: file\n  path: zoo.gml\n  hosts: {{beside: 1, rate: 1Gbps, delay: 2us}}\n"
    f"  defaults: {{rate: 1Gbps, delay: 1us, distance: on}}\n  {_SWITCH}\ntransport: roce\n",
    "raw.yaml": "topology:\n  kind: file\n  path: raw.json\n  hosts: {attribute: type, equals: gpu}\n"
    "  attributes: {rate: {name: capacity, unit: Gbps}, cost: }\n  links: {link: {cost: 2}}\n"
    f"  defaults: {{delay: 1us}}\n  forwarding: hosts\n  {_SWITCH}\n",
    "htsim.yaml": f"topology:\n  kind: file\n  path: tree.topo\n  {_SWITCH}\ntransport: roce\n",
    "infragraph.yaml": f"topology:\n  kind: file\n  path: infra.yml\n  {_SWITCH}\n"
    "  defaults: {rate: 1Gbps, delay: 1us}\n",
    "joined.yaml": "config: config.txt\ntopology: hpcc.txt\n",
    "rails.yaml": "topology:\n  kind: rail-optimised\n  nodes: 2\n  npus_per_node: 2\n  spines: 0\n"
    f"  forwarding: {{by: hosts, injection: {{rate: 1Tbps}}}}\n  {_LINK}\n  {_SWITCH}\n"
    f"  scale_up: {{{_LINK}, {_SWITCH}}}\n",
    "own-topology.yaml": "topology:\n  kind: mine.py:topology\n  parameters: {npus: 4, rate: 100Gbps}\n"
    "transport: {kind: roce, congestion_control: mine.py:Control}\n",
    "analytical.yml": "topology: [Switch]\nnpus_count: [4]\nbandwidth: [50.0]\nlatency: [500.0]\n",
    "analytical.json": json.dumps(
        {
            "topology-name": "Hierarchical",
            "topologies-per-dim": ["Ring"],
            "dimension-type": ["N"],
            "dimensions-count": 1,
            "units-count": [4],
            "links-count": [2],
            "link-latency": [500],
            "link-bandwidth": [50],
            "nic-latency": [0],
            "router-latency": [0],
            "hbm-latency": [1],
            "hbm-bandwidth": [1],
            "hbm-scale": [0],
        },
        indent=1,
    ),
    "config.txt": _HPCC_CONFIG,
}
SCHEDULES = {
    "ring.csv": csv_text(lookup(CollectiveKind.ALL_REDUCE, "ring", 4), CollectiveKind.ALL_REDUCE),
    "ring.json": json_text(lookup(CollectiveKind.ALL_REDUCE, "ring", 4), CollectiveKind.ALL_REDUCE),
    "ring.xml": ring_all_reduce(4),
}
GRAPHS = {
    "hpcc.txt": "5 1 4\n4\n0 4 100Gbps 0.001ms 0\n1 4 100Gbps 0.001ms 0\n"
    "2 4 100Gbps 0.001ms 0\n3 4 100Gbps 0.001ms 0\n",
    "zoo.gml": "# places\ngraph [\n  directed 0\n"
    + "".join(f'  node [ id {n} label "P{n}" Latitude {n}.5 Longitude -{n}.5 graphics [ x 1 ] ]\n' for n in range(4))
    + "".join(f"  edge [ source {n} target {(n + 1) % 4} LinkSpeedRaw 1000000000.0 ]\n" for n in range(4))
    + "]\n",
    "raw.json": json.dumps(
        {
            "directed": False,
            "nodes": [{"id": n, "type": "gpu"} for n in range(4)],
            "links": [{"source": n, "target": (n + 1) % 4, "capacity": 100, "cost": 0.5} for n in range(4)],
        },
        indent=1,
    ),
    "tree.topo": "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 500\n"
    "Radix_Down 2\nRadix_Up 2\nQueue_up 900000\nQueue_down 900000\nTier 1\nDownlink_speed_Gbps 100\n"
    "Downlink_Latency_ns 500\nRadix_Down 2\nSwitch_Latency_ns 10\n",
    "infra.yml": "devices:\n- name: box\n  components:\n  - {name: xpu, count: 2, choice: xpu}\n"
    "  - {name: nic, count: 2, choice: nic}\n  links:\n  - name: pcie\n  edges:\n"
    "  - {scheme: one2one, link: pcie, ep1: {component: xpu}, ep2: {component: nic}}\n"
    "- name: tor\n  components:\n  - {name: asic, count: 1, choice: switch}\n  - {name: port, count: 4, choice: port}\n"
    "  links:\n  - name: ic\n  edges:\n"
    "  - {scheme: many2many, link: ic, ep1: {component: asic}, ep2: {component: port}}\n"
    "links:\n- name: eth\n  physical: {bandwidth: {choice: gigabits_per_second, gigabits_per_second: 100}}\n"
    "instances:\n- {name: host, device: box, count: 2}\n- {name: tor, device: tor, count: 1}\nedges:\n"
    "- scheme: one2one\n  link: eth\n  ep1: {instance: 'host[0:2]', component: nic}\n"
    "  ep2: {instance: tor, component: port}\n",
}


def _nodes(rank: int) -> list[bytes]:
    """The nodes of a rank."""
    before, after = (rank - 1) % 4, (rank + 1) % 4
    return [
        chakra_bytes.node(0, chakra_bytes.COMPUTE, duration_us=3, num_ops=5000, tensor_size=64),
        chakra_bytes.node(1, chakra_bytes.COLLECTIVE, [0], comm_type=0, comm_size=4000, involved_dim=[True]),
        chakra_bytes.node(2, chakra_bytes.COLLECTIVE, [0], comm_type=2, comm_size=64, pg_name=str(1 + rank // 2)),
        chakra_bytes.node(3, chakra_bytes.SEND, [1], kind="int32", comm_dst=after, comm_size=300, comm_tag=rank),
        chakra_bytes.node(4, chakra_bytes.RECEIVE, control=[1], comm_src=before, comm_size=300, comm_tag=before),
        chakra_bytes.node(5, 2, [4, 3], tensor_size=9000, is_cpu_op=True),
    ]


def _ring(rank: int) -> list[bytes]:
    """An all-reduce as a graph: once around."""
    before, after = (rank - 1) % 4, (rank + 1) % 4
    return [
        chakra_bytes.node(0, chakra_bytes.SEND, comm_dst=after, comm_size=300),
        chakra_bytes.node(1, chakra_bytes.RECEIVE, [0], comm_src=before, comm_size=300),
    ]


def odd_trace(draw: random.Random) -> str:
    """A file whose messages are all sound, and whose graph most likely isn't."""
    nodes = _nodes(draw.randrange(4))
    for _ in range(draw.choice((1, 1, 2, 5))):
        number, type_ = draw.choice((0, 1, 2, 5, 6, 2**64 - 1)), draw.choice((*range(9), 2**31 - 1))
        parents = [draw.choice((0, 1, 3, 5, 6, 2**63)) for _ in range(draw.randrange(4))]
        more = {name: draw.choice(values) for name, values in _ODD.items() if draw.random() < 0.4}
        control, kind = parents[:1], draw.choice(chakra_bytes.INTEGER_KINDS)
        kind = "int64" if any(isinstance(value, int) and not 0 <= value < 2**31 for value in more.values()) else kind
        node = chakra_bytes.node(number, type_, parents, control=control, kind=kind, attributes=more.items())
        nodes[draw.randrange(len(nodes)) :][:1] = [node]
        nodes.insert(draw.randrange(len(nodes) + 1), node if draw.random() < 0.7 else draw.choice(nodes))
    return _letters(nodes)


_ODD: Mapping[str, tuple[object, ...]] = {
    "comm_type": (0, 1, 2, 3, 5, 6, 7, 8, 9, 10, -1, "0"),
    "comm_size": (0, 1, 3, 4000, 2**62, -1, "big"),
    "comm_src": (0, 1, 3, 4, -1, 2**40),
    "comm_dst": (0, 1, 3, 4, -1, 2**40),
    "comm_tag": (0, 1, -1, -2, 2**62),
    "comm_priority": (0, 5, -5, 2**62),
    "pg_name": ("", "0", "1", "2", "3", "01", 1, "tensor \u20ac"),
    "involved_dim": ([], [True], [False], [False, True], [True] * 9, 1),
    "is_cpu_op": (True, False, 2, "no"),
    "num_ops": (0, 1, 2**62, -1),
    "tensor_size": (0, 1, 2**62, -1),
    "duration_ps": (0, 7, 2**62, -1),
}


def _letters(nodes: list[bytes]) -> str:
    """A file of Chakra's with a letter for each byte."""
    return chakra_bytes.trace(nodes).decode("latin-1")


def _json(rank: int) -> str:
    """A file of Chakra's in JSON, one object after the other."""
    end = {"name": "comm_dst" if rank % 2 else "comm_src", "int32Val": rank ^ 1}
    reduce = {"comm_type": "0", "comm_size": "77"}
    attributes: list[object] = [{"name": name, "int64Val": value} for name, value in reduce.items()]
    attributes.append({"name": "involved_dim", "boolList": {"values": [True, False]}})
    found = [
        {"version": ""},
        {"id": 1, "type": "COMM_COLL_NODE", "dataDeps": [2], "attr": attributes},
        {"id": "2", "name": "n", "type": "COMP_NODE", "duration_micros": 3},
        {"id": 3, "type": 5 if rank % 2 else 6, "attr": [end, {"name": "comm_size", "uint64Val": 9}]},
    ]
    return "\n".join(map(json.dumps, found))


TRACES = {f"trace.{rank}.et": _letters(_nodes(rank)) for rank in range(4)} | {
    **{f"ring.{rank}.et": _letters(_ring(rank)) for rank in range(4)},
    **{f"text.{rank}.json": _json(rank) for rank in range(4)},
    "graph.json": json.dumps(
        {
            "workload_graph": [
                {"Id": 1, "Name": "a", "NodeType": 4, "runtime": 5, "data_deps": [], "is_cpu_op": False, "num_ops": 8},
                {"Id": 2, "NodeType": 7, "comm_type": 0, "comm_size": 80, "ctrl_deps": [1], "involved_dim": "[true]"},
                {"Id": "3", "NodeType": "COMP_NODE", "runtime": 2.5, "dataDeps": [2, 1], "tensor_size": 4.0},
            ]
        },
        indent=1,
    ),
    "trace.groups.json": '{"1": [0, 1], "2": [2, 3]}',
    "alone.json": '{"version": "0.0.4"}{"id": "1", "type": "COMP_NODE", "durationMicros": "7", "dataDeps": ["0"],\n'
    '"attr": [{"name": "num_ops", "int64Val": "5"}]}',
}
"""Those of ``.et`` are bytes, written as the letters of Latin-1."""
TRACE_WORDS = ("trace", "trace", "trace", "trace.2.et", "alone.json", "text", "graph.json")
"""What ``--workload`` may say of them."""

PARTS = """from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.playing.loops.steps import FORWARD, WEIGHT_GRADIENT


def on_built(context):
    pass


def algorithm(ranks):
    return lookup(CollectiveKind.ALL_REDUCE, "direct", ranks)


def loop(steps, role):
    for number in steps.passes:
        yield from steps.compute(number, 0, FORWARD)
        yield from steps.issue(number, 0, WEIGHT_GRADIENT)
    yield from steps.drain()


def place(running, waiting, newcomer):
    return len(waiting)


def topology(npus, rate):
    links = tuple(Link(host, npus, rate, 1000) for host in range(npus))
    return Graph(npus, 1, links, tuple(range(npus)), (10**6,))


class Control:
    def __init__(self, parameters):
        pass
"""
# What stands in the place of a function's body: no mutation of a program, which might never end.
BAD_BODIES = (
    *("1 / 0", "raise SystemExit(3)", "raise BaseException('odd')", "raise KeyError(b'\\xff\\n')", "return None"),
    *("return 3", "return [1, 2]", "return object()", "yield 3", "yield", "return float('nan')", "yield from [None]"),
    *("return lookup(CollectiveKind.ALL_GATHER, 'ring', 3)", "return lookup(CollectiveKind.BARRIER, 'bruck', 4)"),
    *("return Graph(0, 0, (), ())", "return Graph(4, 0, (), (0, 1, 2, 3))", "return Graph(2, 0, (), (5,))"),
    *(
        "return Graph(2, 0, (Link(0, 1, 1e9, 1),), (0, 1))",
        "return Graph(2, 0, (Link(0, 1, 5, 0),), (0, 1), (), (), 'x')",
    ),
    *("return Graph(2, 0, [(0, 1)], (0, 1))", "return Graph(2, 0, (Link(0, 1, 10**9, 5),), (0, 1), dimensions=(3,))"),
    *("return Graph(2, 0, (Link(0, 1, 10**9, 5),), (0, 1), dimensions=7)", "raise InputError('x')", "return Graph"),
)
BAD_FILES = (
    "",
    "def (",
    "\0",
    "raise SystemExit(0)",
    "1 / 0",
    "import no_such_module",
    "on_built = loop = topology = 3",
)
