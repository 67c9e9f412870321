"""What pipelines leave idle and what sharded weights send: trainings on a network of which only the bytes matter."""

from __future__ import annotations

from collections.abc import Callable

from support.training import block, plan_of, play, takes

from astra_ns3.config.training_plan import Block, Degrees, Elements, Group, Ring, Sharding
from validation.comparison import Comparison, Found, against
from validation.comparison import Group as Rows

STAGES, BATCHES, NPUS = 4, 8, 8
FORWARD_PS, INPUT_PS, WEIGHT_PS = 5_000_000, 7_000_000, 3_000_000
PARAMETERS = 1 << 16
ORDERS = "tests/unit/playing/test_training_schedules.py"
SENT = "tests/unit/playing/test_training_playing.py"
NARAYANAN = "D. Narayanan et al., SC 2021"
RAJBHANDARI = "S. Rajbhandari et al., SC 2020"


def _idle_ps(schedule: str, chunks: int = 1) -> tuple[int, int]:
    """What a stage is idle for, and an iteration's time, if messages take none."""
    layer = block("layer", FORWARD_PS // chunks, INPUT_PS // chunks, WEIGHT_PS // chunks)
    parts = [[layer]] * (STAGES * chunks)
    plan = plan_of(Degrees(pipeline=STAGES), parts, micro_batches=BATCHES, schedule=schedule)
    records = play(plan, ideal=True)
    return records.finish_ps - records.npus[0].compute_ps, records.finish_ps


def _of_all(schedule: str) -> Callable[[], Found]:
    def find() -> Found:
        idle_ps, finish_ps = _idle_ps(schedule)
        return against(100 * idle_ps / finish_ps, 100 * (STAGES - 1) / (BATCHES + STAGES - 1), "%")

    return find


def _of_the_rest() -> Found:
    idle_ps, finish_ps = _idle_ps("interleaved", 2)
    return against(100 * idle_ps / (finish_ps - idle_ps), 100 * (STAGES - 1) / (2 * BATCHES), "%")


def _zero_bubble() -> Found:
    expected_ps = (STAGES - 1) * (FORWARD_PS + INPUT_PS - WEIGHT_PS)
    return against(_idle_ps("zero-bubble")[0] / 1e6, expected_ps / 1e6, "us")


def _shared(stage: int, times: int) -> Callable[[], Found]:
    """Bytes of an NPU in an iteration, of parameters of two bytes, as multiples of these."""

    def find() -> Found:
        layers = [block(name, 1, 1, 1, PARAMETERS) for name in "ab"]
        plan = plan_of(Degrees(data=NPUS), [layers], sharding=Sharding(stage), elements=Elements(2, 2))
        share = sum(play(plan).sent_bytes) / (2 * 2 * PARAMETERS)
        return against(share, times * (NPUS - 1) / NPUS, "times the parameters")

    return find


def _ring() -> Found:
    layer = Block("attention", (Ring(Group.CONTEXT, takes(1), 1 << 20),))
    return against(sum(play(plan_of(Degrees(context=NPUS), [[layer]])).sent_bytes), (NPUS - 1) * (1 << 20), "bytes", 0)


_OF_ALL = f"{100 * (STAGES - 1) / (BATCHES + STAGES - 1):.3f} %, (p-1)/(m+p-1)"
_OF_REST = f"{100 * (STAGES - 1) / (2 * BATCHES):.3f} %, (p-1)/(v m)"
_TWICE, _THRICE = (f"{times * (NPUS - 1) / NPUS:.3f} times, {times} (n-1)/n" for times in (2, 3))
GROUPS = [
    Rows(
        "Trainings of models: 4 stages and 8 micro-batches; 8 NPUs with the same weights",
        [
            Comparison("bubble-gpipe", "idle share, GPipe", NARAYANAN, _OF_ALL, _of_all("gpipe"), ORDERS),
            Comparison("bubble-1f1b", "the same, 1F1B", NARAYANAN, _OF_ALL, _of_all("1f1b"), ORDERS),
            Comparison(
                "bubble-interleaved",
                "idle over computing, interleaved, 2 parts on each stage",
                NARAYANAN,
                _OF_REST,
                _of_the_rest,
                ORDERS,
            ),
            Comparison(
                "bubble-zero",
                "idle time, ZB-H1; forward 5 us, gradients of inputs 7, of weights 3",
                "P. Qi et al., 2023, ZB-H1",
                "27.000 us, (p-1)(F+I-W)",
                _zero_bubble,
                ORDERS,
            ),
            Comparison("zero-0", "bytes of an NPU: gradients all-reduced", RAJBHANDARI, _TWICE, _shared(0, 2), SENT),
            Comparison("zero-1", "the same, ZeRO 1", RAJBHANDARI, _TWICE, _shared(1, 2), SENT),
            Comparison("zero-2", "the same, ZeRO 2", RAJBHANDARI, _TWICE, _shared(2, 2), SENT),
            Comparison("zero-3", "the same, ZeRO 3", RAJBHANDARI, _THRICE, _shared(3, 3), SENT),
            Comparison(
                "ring-attention",
                "ring attention, keys and values of 1 MiB an NPU: bytes of an NPU",
                "H. Liu et al., 2023",
                f"{(NPUS - 1) << 20:,} bytes, (n-1) S",
                _ring,
                SENT,
            ),
        ],
    )
]
