"""Why a run took so long, with NCCL's choices: those with faster lines, and on request the others, played."""

from __future__ import annotations

import logging

from astra_ns3.experiments.nccl.choices_of_run import (
    HINT,
    choices_document,
    choices_of,
    choices_text,
    doubts_of,
    has_choices,
)
from astra_ns3.experiments.nccl.faster_lines import with_choices_anew
from astra_ns3.frozen import replace
from astra_ns3.report.explanation.explain import TOP
from astra_ns3.report.explanation.explain import explain as explain_records
from astra_ns3.report.explanation.explanation import Explanation
from astra_ns3.report.tables import Records

_LOG = logging.getLogger(__name__)


def explain(
    run: Records, *, iteration: int | None = None, collective: int | None = None, top: int = TOP, choices: bool = False
) -> Explanation:
    """Why the run took so long; ``iteration``: why one training pass did; ``collective``: why one collective did.

    ``top``: so many messages, ports and NPUs; those that words tell alike count as one. ``choices``: play NCCL's other
    choices for collectives of the chain (minutes). What was not recorded is left out, and named. Raises InputError for
    an iteration or collective that is not there, or of which no table tells.
    """
    found = with_choices_anew(run, explain_records(run, iteration=iteration, collective=collective, top=top))
    if not choices:
        return replace(found, choices_text=HINT) if has_choices(run, found) else found
    played = choices_of(run, found)
    if played:
        for words in doubts_of(run):
            _LOG.warning("--choices: %s", words)
    return replace(found, choices=tuple(choices_document(played)), choices_text=choices_text(played))
