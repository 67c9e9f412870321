"""Hugging Face's config.json as a model, which :mod:`astra_ns3.workload.models.changes` writes as a file of ours."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import NamedTuple

from astra_ns3.config.core.document import Document
from astra_ns3.config.formats.hugging_face.file import read_hugging_face
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.workload.models.workload import ModelWorkload
from astra_ns3.workload.training.schedules import SCHEDULES


class ReadModel(NamedTuple):
    """A model, and what the reader of its file should know."""

    workload: ModelWorkload
    notes: tuple[str, ...]

    def defaults(self, settings: Collection[str]) -> tuple[str, ...]:
        """Return a line about those of our defaults that the keys ``settings`` leave."""
        sequence = self.workload.file.training.document()["sequence"]
        ours = {
            "training.sequence": f"training.sequence is {sequence}",
            "parallel": "parallel.data is auto and all other degrees are 1",
            "compute.device": "compute is an H100's",
        }
        left = [words for key, words in ours.items() if not any(_sets(given, key) for given in settings)]
        return (f"{self.workload.source}: by default {', '.join(left)}; --set changes that",) if left else ()


def _sets(given: str, key: str) -> bool:
    """Return whether ``given`` is ``key``, a group that holds it, or a key inside it."""
    return f"{given}.".startswith(f"{key}.") or f"{key}.".startswith(f"{given}.")


def read_as_model(path: str | os.PathLike[str]) -> ReadModel | None:
    """Return the model of a config.json; None if the file isn't one. Raises InputError with file and key."""
    imported = read_hugging_face(path)
    if imported is None:
        return None
    source = os.fspath(path)
    return ReadModel(
        ModelWorkload(parse_model_file(Document(source, imported.data), SCHEDULES), source), imported.notes
    )
