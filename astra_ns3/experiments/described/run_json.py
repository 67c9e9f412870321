"""Keys of run.json that no type lists: the statistics of a run, and the run.json of several seeds."""

from __future__ import annotations

from collections.abc import Mapping

STATISTICS: Mapping[str, str] = {
    "events": "arrivals of frames and events of ns-3, such as timers, that were played; sampling adds some",
    "messages": "messages sent, signals of one byte among them",
    "packets": "TCP: IP packets that hosts received. RoCE: data packets sent",
    "connections": "TCP connections opened",
    "queue_pairs": "RoCE queue pairs opened",
    "retransmissions": "segments or data packets sent again",
    "timeouts": "times that nothing had progressed for too long",
    "dropped_frames": "frames that found no room in a buffer",
    "lost_frames": "frames lost on a link by its error rate",
    "cut_frames": "frames that had been sent and were lost because a link went down; absent: 0",
    "down_frames": "frames that had not been sent yet and were lost because a link went down; absent: 0",
    "silent_frames": "frames lost on a link that was down before its ends noticed; absent: 0",
    "unrouted_frames": "frames that came where no way led on; absent: 0",
    "new_paths": "RoCE: times that data took a new path after timeouts",
    "marked_frames": "frames given a congestion mark",
    "cnps": "congestion notifications that senders got",
    "nacks": "negative acknowledgements sent",
    "out_of_order_packets": "RoCE: data packets that came out of order; absent: none",
    "pauses": "times that a port's priority was told to stop",
    "pause_storms": "pauses longer than `switch.pfc.watchdog` without a deadlock, each counted once",
    "paused_ps": "time in which ports were stopped, summed over ports",
}
"""Keys of ``statistics``. Backends without packets have ``events``, ``messages`` and counters of their own."""

SEEDS: Mapping[str, str] = {
    "format": "what this file is: `astra-ns3 seeds`",
    "format_version": "the version of that form",
    "run_name": "the runs' name",
    "workload": "the workload's file",
    "npus": "NPUs of the runs",
    "passes": "passes of the runs; null: each job of a scenario has its own",
    "comm_scale": "the option `--comm-scale`",
    "compute_scale": "the option `--compute-scale`",
    "warnings": "warnings of the runs",
    "seed": "the first seed",
    "seeds": "how many were asked for",
    "complete": "whether all runs came to their end",
    "seeds_complete": "how many runs did",
    "finish": "over the complete runs: `mean_ps`, `standard_deviation_ps` (of the sample; null for one run), "
    "`minimum_ps`, `maximum_ps`; null: none is complete",
    "exposed": "the same of the exposed time of NPU 0",
    "jobs": "the same of each job of a scenario by name, from its start to its end, and `runs`: in how many it "
    "ended by itself; null: in none",
    "held_fixed": "what chance could draw and the files fix: paths, by `routing.seed` or `ecmp: per-message-port`",
    "runs": "of each run: `seed`, `complete`, `finish_ps`, `exposed_ps`, `of_floor`, `jobs` (times from start to "
    "end; null: a job didn't end by itself), `folder`, and `stopped`",
    "not_run": "seeds left out after Ctrl-C",
    "files": "name of this file",
    "timing": "wall time of all",
}
"""Keys of the run.json that ``run --seeds N`` writes beside the folders of its runs. Times are whole picoseconds."""
