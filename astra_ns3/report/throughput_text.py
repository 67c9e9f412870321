"""What a run of a model gets done in a second, for people, from what run.json says of it."""

from __future__ import annotations

from astra_ns3.network.run_document import RunDocument
from astra_ns3.report.alignment import number_text


def throughput_rows(metadata: RunDocument) -> list[tuple[str, str]]:
    """Of the summary's table; none for what is no model, or didn't come to its end."""
    return [(name, f"{value}  ({more})" if more else value) for name, value, more in throughput_numbers(metadata)]


def throughput_numbers(metadata: RunDocument) -> list[tuple[str, str, str]]:
    """Name, number, and what stands small beside it."""
    found = metadata.get("throughput")
    if found is None:
        return []
    samples = number_text(found["samples_per_second"])
    if found["tokens_per_second"] is None:
        rows = [("samples a second", samples, f"a sample is one {found['sample']}")]
    else:
        rows = [
            (
                "tokens a second",
                number_text(found["tokens_per_second"]),
                f"in samples of one {found['sample']}: {samples}",
            )
        ]
    used = found["model_flop_utilisation"]
    if used is not None:
        rows.append(("model FLOP utilisation", f"{100 * used:.1f}%", "of the devices' peak"))
    return rows
