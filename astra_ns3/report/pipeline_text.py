"""What was taken for the micro-batches of a pipeline, which a file of SimAI's leaves to its reader, for people."""

from __future__ import annotations

from astra_ns3.network.run_document import FileDocument


def pipeline_rows(workload: FileDocument) -> list[tuple[str, str]]:
    """Of the summary's table, from what run.json says of a workload; none for what has no such pipeline."""
    rows = workload.get("micro_batch_rows")
    if rows is None:
        return []
    count, first, each = rows["micro_batches"], rows["first"], rows["each"]
    chunks = len(rows["chunks"])
    order = "1F1B" if chunks == 1 else f"interleaved 1F1B, {chunks} chunks a stage (vpp)"
    words = [
        f"{_counted(count, 'micro-batch', 'es')} of {_counted(each, 'row')}, {workload['pipeline_stages']} stages",
        order,
        f"they begin at row {first} (from 0), '{workload['layers'][first]['name']}'",
    ]
    if rows["with_the_last"]:
        words.append(f"with the last {_counted(rows['with_the_last'], 'row')} more")
    if first or rows["behind"]:
        words.append(f"played once: {_counted(first, 'row')} before, {rows['behind']} behind")
    return [("pipeline", "; ".join(words))]


def _counted(number: int, word: str, more: str = "s") -> str:
    return f"{number} {word}{more if number != 1 else ''}"
