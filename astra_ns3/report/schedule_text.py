"""The numbers of a schedule: ranks, messages, rounds, and how much each rank sends; as an object and as text."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from astra_ns3.collectives.rounds import message_rounds
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.collectives.volume import sent_shares
from astra_ns3.config.core.collective_kind import CollectiveKind


def schedule_counts(schedule: Schedule, kind: CollectiveKind) -> dict[str, Any]:  # numbers, pairs and words
    """``sent``: the least and the most that a rank sends, in multiples of what each rank brings."""
    rounds = message_rounds(schedule)
    least, most = sent_shares(schedule)
    return {
        "schedule": schedule.name,
        "collective": kind.name.lower(),
        "ranks": schedule.ranks,
        "messages": schedule.messages,
        "reduced_messages": int(schedule.reduces.sum()),
        "rounds": int(rounds.max()) + 1 if schedule.messages else 0,
        "blocks": schedule.blocks,
        "sent": [_shown(least), _shown(most)],
    }


def schedule_text(counts: dict[str, Any]) -> str:  # what schedule_counts gives
    """The counts, one line each."""
    least, most = counts["sent"]
    sent = "1 byte in each message" if counts["collective"] == "barrier" else f"{least} x what it brings"
    if least != most:
        sent = f"{least} to {most} x what it brings"
    rows = {
        "schedule": counts["schedule"],
        "collective": counts["collective"],
        "ranks": counts["ranks"],
        "messages": f"{counts['messages']} ({counts['reduced_messages']} of them with a reduction delay)",
        "rounds": f"{counts['rounds']} if every message takes as long",
        "each rank sends": sent,
    }
    width = max(map(len, rows))
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in rows.items())


def _shown(share: Fraction) -> str:
    return str(share) if share.denominator == 1 else f"{share.numerator}/{share.denominator}"
