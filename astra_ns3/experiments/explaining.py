"""Why a run took so long, and on request what changes and NCCL's other choices save, played."""

from __future__ import annotations

import logging

from astra_ns3.errors import refuse
from astra_ns3.experiments.nccl.choices_of_run import (
    HINT,
    choices_document,
    choices_of,
    choices_text,
    doubts_of,
    has_choices,
    messages_of,
)
from astra_ns3.experiments.progress import ProgressSink
from astra_ns3.experiments.replays.again import plays_again
from astra_ns3.experiments.replays.playing import Subject, with_changes_played
from astra_ns3.experiments.result import Result
from astra_ns3.frozen import replace
from astra_ns3.report.explanation.explain import TOP
from astra_ns3.report.explanation.explain import explain as explain_records
from astra_ns3.report.explanation.explanation import Explanation

_LOG = logging.getLogger(__name__)


def explain(
    run: Result,
    *,
    iteration: int | None = None,
    collective: int | None = None,
    top: int = TOP,
    choices: bool = False,
    play: bool = False,
    backend: str | None = None,
    progress: ProgressSink | None = None,
) -> Explanation:
    """Why the run took so long; ``iteration``: why one training pass did; ``collective``: why one collective did.

    ``top``: so many messages, ports and NPUs; those that words tell alike count as one. ``choices``: play NCCL's other
    choices for collectives of the chain (minutes). ``play``: play the run again, and with each change that may help,
    by ``backend`` (None: the run's); ``progress`` hears of it. What was not recorded is left out, and named. Raises
    InputError for an iteration or collective that is not there, or of which no table tells, and for a run that can't be
    played again.
    """
    refuse(backend is not None and not play, f"backend is {backend!r}, expected none without play")
    found = explain_records(run, iteration=iteration, collective=collective, top=top)
    found = replace(found, again=plays_again(run))
    if play:
        subject = Subject(iteration, collective, (run.metadata.get("job") or {}).get("name"))
        found = with_changes_played(run, found, subject, backend=backend, progress=progress)
    if not choices:
        return replace(found, choices_text=HINT) if has_choices(run, found) else found
    played = choices_of(run, found)
    if played:
        for words in doubts_of(run):
            _LOG.warning("--choices: %s", words)
    return replace(
        found, choices=tuple(choices_document(played)), choices_text=choices_text(played, messages_of(run, found))
    )
