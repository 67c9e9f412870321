"""Variables of NCCL: which are taken, which are refused and how, and what its lists allow."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from astra_ns3.errors import InputError
from astra_ns3.nccl.constants import ALGORITHMS
from astra_ns3.nccl.environment import Environment, Kind, Value, parse_environment, parse_list


def test_nothing_set_leaves_every_decision_to_nccl() -> None:
    assert parse_environment({}) == Environment()


def test_a_field_is_the_variable_in_small_letters_and_numbers_can_be_text() -> None:
    found = parse_environment(
        {"NCCL_ALGO": "Ring", "NCCL_PROTO": "^LL128", "NCCL_MIN_CTAS": 24, "NCCL_IB_QPS_PER_CONNECTION": "2"}
    )
    assert found == Environment(algo="Ring", proto="^LL128", min_ctas=24, ib_qps_per_connection=2)


@pytest.mark.parametrize(("text", "number"), [("4194304", 4194304), ("0x400000", 4194304), ("020000000", 4194304)])
def test_numbers_are_read_as_c_reads_them(text: str, number: int) -> None:
    assert parse_environment({"NCCL_BUFFSIZE": text}).buffsize == number


def test_an_empty_text_is_not_set() -> None:
    assert parse_environment({"NCCL_NTHREADS": "", "NCCL_ALGO": "", "NCCL_DEBUG": ""}) == Environment()


@pytest.mark.parametrize(
    ("value", "level"), [("PHB", "PHB"), ("0", "LOC"), (1, "PIX"), (2, "PXB"), ("3", "PHB"), (4, "SYS"), ("5", "SYS")]
)
def test_old_numbers_of_levels_are_the_words_they_stood_for(value: Value, level: str) -> None:
    assert parse_environment({"NCCL_NET_GDR_LEVEL": value}).net_gdr_level == level


def test_logging_and_start_up_are_taken_and_named() -> None:
    found = parse_environment(
        {"NCCL_DEBUG": "INFO", "NCCL_PXN_DISABLE": 1, "NCCL_SOCKET_IFNAME": "^lo", "NCCL_IB_HCA": "mlx5"}
    )
    assert found.without_effect == ("NCCL_DEBUG", "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA")
    assert found.pxn_disable == 1


def test_what_is_not_modelled_may_stand_at_its_default() -> None:
    """That is what NCCL does without them, so that nobody needs to be told."""
    assert parse_environment({"NCCL_IB_DISABLE": 0, "NCCL_P2P_PXN_LEVEL": "2"}) == Environment()


@pytest.mark.parametrize(
    ("variables", "error"),
    [
        ({"NCCL_ALGOS": "ring"}, "NCCL_ALGOS.*did you mean 'NCCL_ALGO'"),
        ({"NCCL_IB_QPS_PER_CONECTION": 2}, "did you mean 'NCCL_IB_QPS_PER_CONNECTION'"),
        ({"nccl_algo": "ring"}, "did you mean 'NCCL_ALGO'"),
        ({"ALGO": "ring"}, "expected a variable of NCCL"),
        ({"NCCL_ALGO": "rung"}, "NCCL_ALGO: algorithm 'rung' is not one of Tree.*did you mean 'Ring'"),
        ({"NCCL_ALGO": 3}, "NCCL_ALGO: found 3, expected a list"),
        ({"NCCL_PROTO": "LL256"}, "protocol 'LL256' is not one of LL, LL128, Simple"),
        ({"NCCL_PROTO": "LL, Simple"}, "protocol ' Simple'"),
        ({"NCCL_PROTO": "^LL,LL128,Simple"}, "allows nothing"),
        ({"NCCL_ALGO": "ring;tree"}, "entry 'tree' has no function"),
        ({"NCCL_ALGO": "allreduse:ring"}, "function 'allreduse' is not one of.*did you mean 'AllReduce'"),
        ({"NCCL_ALGO": "allreduce:"}, "list '' allows nothing"),
        ({"NCCL_MIN_CTAS": 0}, "NCCL_MIN_CTAS: value is 0, expected 1 to 64"),
        ({"NCCL_MIN_CTAS": 65}, "expected 1 to 64"),
        ({"NCCL_MIN_CTAS": "4k"}, "found '4k', expected a whole number"),
        ({"NCCL_MIN_CTAS": 2.5}, "expected a whole number"),
        ({"NCCL_PXN_DISABLE": True}, "expected a whole number"),
        ({"NCCL_NTHREADS": 100}, "expected a multiple of 32"),
        ({"NCCL_NET_GDR_LEVEL": "phb"}, "level 'phb' is not one of LOC.*did you mean 'PHB'"),
        ({"NCCL_NET_GDR_LEVEL": 6}, "expected 0 to 5"),
        ({"NCCL_MIN_CTAS": 8, "NCCL_MAX_CTAS": 4}, "NCCL_MIN_CTAS is 8 and NCCL_MAX_CTAS 4"),
        ({"NCCL_LL_BUFFSIZE": 65536}, "NCCL_LL_BUFFSIZE is not modelled"),
        ({"NCCL_IB_DISABLE": 1}, "not modelled.*sockets.*set it to 0"),
    ],
)
def test_wrong_variables_are_refused_in_one_line(variables: Mapping[str, Value], error: str) -> None:
    with pytest.raises(InputError, match=f"^job.yaml: .*{error}|^job.yaml: {error}") as raised:
        parse_environment(variables, "job.yaml")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "text", "function", "allowed"),
    [
        ("algo", "ring,TREE", "AllReduce", {"Tree", "Ring"}),
        ("algo", "^tree", "AllReduce", {*ALGORITHMS} - {"Tree"}),
        ("algo", "ring;allreduce:tree,nvlstree", "AllReduce", {"Tree", "NVLSTree"}),
        ("algo", "ring;allreduce:tree,nvlstree", "Broadcast", {"Ring"}),
        ("algo", "allreduce:tree", "AllGather", None),
        ("algo", "allreduce:tree;allreduce:^ring,tree", "AllReduce", {*ALGORITHMS[2:]}),
        ("proto", "LL,Simple;ALLREDUCE:^LL", "AllReduce", {"LL128", "Simple"}),
        ("proto", "LL,Simple;allreduce:^LL", "ReduceScatter", {"LL", "Simple"}),
        ("proto", None, "AllReduce", None),
    ],
)
def test_lists_allow_what_nccls_own_syntax_says(
    kind: Kind, text: str | None, function: str, allowed: set[str] | None
) -> None:
    environment = Environment(algo=text) if kind == "algo" else Environment(proto=text)
    assert environment.listed(kind, function) == allowed


def test_a_list_without_entries_says_nothing() -> None:
    assert parse_list("algo", ";;") == {}
