"""Logs of nccl-tests: its text of several versions, its rows as CSV, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.measured import shared

from astra_ns3.errors import InputError
from astra_ns3.nccl.logs import LogRow, bus_factor, read_log
from astra_ns3.nccl.version import Version

SHARED = shared()
TABLES = [] if SHARED is None else sorted((SHARED / "nccl").glob("*.csv"))
OTHERS = {"deepep.csv", "summaries.csv"}

NEW = """\
# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 8 maxBytes 2097152 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1
#
# Using devices
#  Rank  0 Group  0 Pid   1584 on node-1 device  0 [0000:0f:00] NVIDIA H100
#  Rank  1 Group  0 Pid   1584 on node-1 device  1 [0000:15:00] NVIDIA H100
node-1:1584:1590 [0] NCCL INFO Launch mode Parallel
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
           0             0     float     sum      -1     0.15    0.00    0.00       0     0.14    0.00    0.00       0
           8             2     float     sum      -1    10.00    0.00    0.00       0     9.50    0.00    0.00       0
     1048576        262144     float     sum      -1    20.00   52.43   52.43       0    19.00   55.19   55.19       0
     2097152        524288     float     sum      -1    30.00   69.91   69.91       0    29.00   72.32   72.32       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 41.6411
#
"""
HEAD = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
ROWS = (
    LogRow(8, 10.0, 9.5, 0.0, 0.0),
    LogRow(1 << 20, 20.0, 19.0, 52.43, 55.19),
    LogRow(2 << 20, 30.0, 29.0, 69.91, 72.32),
)


def written(folder: Path, text: str, name: str = "run.log") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_new_log_names_its_collective_ranks_and_version(tmp_path: Path) -> None:
    log = read_log(written(tmp_path, NEW))
    assert (log.collective, log.ranks, log.version) == ("all_reduce", 2, Version(2, 28))
    assert (log.hosts, log.gpu) == (1, "NVIDIA H100")
    assert log.rows == ROWS
    assert log.warnings == ()


@pytest.mark.parametrize(("collective", "redop"), [("broadcast", "none"), ("reduce", "sum")])
def test_a_log_of_a_collective_with_a_root_names_it_and_has_its_times(
    tmp_path: Path, collective: str, redop: str
) -> None:
    """nccl-tests' column ``root`` has the root's rank; the bus bandwidth is the algorithm bandwidth."""
    text = NEW.replace("all_reduce_perf", f"{collective}_perf").replace("     sum      -1", f"{redop:>8}       0")
    log = read_log(written(tmp_path, text))
    assert (log.collective, log.rows, log.warnings) == (collective, ROWS, ())


@pytest.mark.parametrize("tag", ["0: ", "[1,0]<stdout>:"])
def test_marks_of_srun_and_mpirun_before_each_line_are_passed_over(tmp_path: Path, tag: str) -> None:
    log = read_log(written(tmp_path, "".join(tag + line + "\n" for line in NEW.splitlines())))
    assert (log.ranks, log.rows) == (2, ROWS)


def test_an_old_log_without_root_and_with_errors_is_read(tmp_path: Path) -> None:
    text = (
        "#                                                       out-of-place                       in-place\n"
        "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
        "   104857600      26214400     float     sum   202872    0.52    0.69    N/A   224616    0.47    0.62  2e-07\n"
        "# Avg bus bandwidth    : 0.655\n"
    )
    log = read_log(written(tmp_path, text, "all_reduce.out"), ranks=3)
    assert log.rows == (LogRow(104857600, 202872, 224616, 0.69, 0.62),)
    assert (log.collective, log.version, log.warnings) == ("all_reduce", None, ())


def test_columns_whose_cells_are_blank_are_passed_over(tmp_path: Path) -> None:
    text = (
        "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "        1024            64     float            10.00    0.10    0.08  0e+00      N/A     N/A     N/A    N/A\n"
    )
    log = read_log(written(tmp_path, text, "alltoall_n1.txt"))
    assert log.collective == "alltoall"
    assert log.rows == (LogRow(1024, 10.0, None, 0.08, None),)


def test_a_page_that_shows_some_ranks_has_as_many_as_the_last_says(tmp_path: Path) -> None:
    text = NEW.replace("#  Rank  1 Group", "#  Rank 15 Group")
    log = read_log(written(tmp_path, text))
    assert (log.ranks, log.hosts) == (16, None)


def test_csv_of_times_in_place_only_is_read(tmp_path: Path) -> None:
    text = (
        "# all_reduce in place; 2 nodes x 8 H100; NCCL 2_18; from nowhere\n"
        "size_bytes,count,type,redop,oop_time_us,oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps\n"
        "0,0,float,sum,1.0,0.00,0.00,1.0,0.00,0.00\n"
        "1024,,,sum,,,,44.8,0.02,0.04\n"
    )
    log = read_log(written(tmp_path, text, "table.csv"))
    assert (log.collective, log.ranks, log.version) == ("all_reduce", 16, Version(2, 18))
    assert log.rows == (LogRow(1024, None, 44.8, None, 0.04),)
    assert log.rows[0].measured_us == 44.8


OWN = """\
# all_reduce on 2 x dgx-h100 (4 GPUs each), NCCL 2.30: out of place, in place
#       size     time   algbw   busbw     time   algbw   busbw  algorithm    protocol  channels  what binds
#        (B)     (us)  (GB/s)  (GB/s)     (us)  (GB/s)  (GB/s)
           8      31.0    0.00    0.00     31.0    0.00    0.00  Tree         LL               1  latency
     8388608     174.1   48.17   84.30    174.1   48.17   84.30  NVLSTree     Simple          16  copying (20% of it)
# mean of busbw: 42.15 GB/s

# us by each choice that NCCL may make; *: the tuner's, !: where another is faster
#       size     Tree LL
           8       31.0*
"""


def test_our_own_table_is_read_as_a_log(tmp_path: Path) -> None:
    log = read_log(written(tmp_path, OWN))
    assert (log.collective, log.ranks, log.version) == ("all_reduce", 8, Version(2, 30))
    assert log.rows == (LogRow(8, 31.0, 31.0, 0.0, 0.0), LogRow(8388608, 174.1, 174.1, 84.30, 84.30))
    assert log.warnings == ()
    for where, ranks in (
        ("4 x server of my net.yaml (4 GPUs each)", 16),
        ("3 x server of net.yaml (1 GPU each)", 3),
        ("3 x server of net.yaml, taken for dgx-a100 (8 GPUs each)", 24),
    ):
        text = OWN.replace("2 x dgx-h100 (4 GPUs each)", where)
        assert read_log(written(tmp_path, text)).ranks == ranks
    with pytest.raises(InputError, match=r"run.log:5: found 2 columns, expected at least 7: the row is cut"):
        read_log(written(tmp_path, OWN[: OWN.index("   48.17")]))


def test_what_the_caller_says_comes_first(tmp_path: Path) -> None:
    log = read_log(written(tmp_path, NEW), collective="reduce", ranks=4)
    assert (log.collective, log.ranks) == ("reduce", 4)


def test_a_bandwidth_of_other_ranks_is_a_warning(tmp_path: Path) -> None:
    log = read_log(written(tmp_path, NEW), ranks=8)
    assert [warning.split(": ", 1)[1] for warning in log.warnings] == [
        "bus bandwidth out of place isn't that of the time of 8 ranks in lines 15, 16",
        "bus bandwidth in place isn't that of the time of 8 ranks in lines 15, 16",
    ]


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        ("52.43   52.43", "12.43   52.43", "run.log:15: algorithm bandwidth out of place"),
        ("# Avg bus bandwidth", "# Killed", "run.log: ends without '# Avg bus bandwidth'"),
        ("52.43       0", "52.43       7", "run.log:15: nccl-tests found wrong results in lines 15"),
        ("#  Rank  1 Group", "#  Rank  0 Group", "2 processes are rank 0 each"),
    ],
)
def test_what_contradicts_itself_is_a_warning(tmp_path: Path, old: str, new: str, warning: str) -> None:
    log = read_log(written(tmp_path, NEW.replace(old, new)))
    assert any(warning in said for said in log.warnings)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "run.log: found no line of columns"),
        ("# OSU MPI Latency Test\n8 1.2\n", "run.log: found no line of columns.*expected a log of nccl-tests"),
        (HEAD, "run.log: found no rows: the log is cut"),
        (NEW[: NEW.index("69.91")], "run.log:16: found 6 columns, expected 13: the row is cut"),
        (NEW[: NEW.index("        524288")], "run.log:16: found the size 2097152 alone: the row is cut"),
        (NEW + NEW, "run.log:30: found a second table"),
        (NEW.replace("     1048576 ", "           4 "), "run.log:15: size is 4 after 8, expected sizes that rise"),
        (NEW.replace("30.00", "-1.00"), "run.log:16: time is -1 us, expected more than 0"),
        (NEW.replace("30.00", "many"), "run.log:16: found 'many', expected a number"),
        (NEW.replace("all_reduce_perf", "other"), "found no name of a collective.*: rename it as all_reduce-1.log"),
        (NEW.replace("# Using devices", "rccl-tests: Version develop\n# Using devices"), "expected one of nccl-tests"),
        ("size_bytes,count,time\n8,2,1\n", "run.log:1: found no column oop_time_us"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(InputError, match=error) as raised:
        read_log(written(tmp_path, text))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("8,2,float,sum,1.0,0.0", "table.csv:3: found 6 cells, expected 10: the row is cut"),
        ("8,2,float,sum,,,,,,", "table.csv:3: found no time"),
        ("8.5,2,float,sum,1,0,0,1,0,0", "table.csv:3: size is '8.5'"),
        ("8,2,float,sum,nan,0,0,1,0,0", "table.csv:3: found 'nan'"),
    ],
)
def test_wrong_rows_of_csv_are_refused_in_one_line(tmp_path: Path, row: str, error: str) -> None:
    head = (
        "size_bytes,count,type,redop,oop_time_us,oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps"
    )
    with pytest.raises(InputError, match=error) as raised:
        read_log(written(tmp_path, f"# all_reduce\n{head}\n{row}\n", "table.csv"))
    assert "\n" not in str(raised.value)


def test_files_that_are_absent_or_no_text_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be read"):
        read_log(tmp_path / "absent.log")
    (tmp_path / "bytes.log").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="no text"):
        read_log(tmp_path / "bytes.log")


@pytest.mark.parametrize(
    ("collective", "factor"),
    [
        *(("all_reduce", 1.75), ("all_gather", 0.875), ("reduce_scatter", 0.875), ("alltoall", 0.875)),
        *(("broadcast", 1), ("reduce", 1), ("sendrecv", 1)),
    ],
)
def test_bus_factors_of_eight_ranks(collective: str, factor: float) -> None:
    assert bus_factor(collective, 8) == factor


def test_an_unknown_collective_has_no_bus_factor() -> None:
    with pytest.raises(InputError, match="did you mean 'all_reduce'"):
        bus_factor("all_reduse", 8)


@pytest.mark.skipif(not TABLES, reason="the measurements are not beside this repository")
@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_published_tables_are_read_without_a_contradiction(path: Path) -> None:
    if path.name in OTHERS:
        with pytest.raises(InputError, match="expected a log of nccl-tests"):
            read_log(path)
        return
    log = read_log(path)
    assert log.rows
    assert log.ranks is not None
    assert log.warnings == ()
