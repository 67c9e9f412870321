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
        """Return a line about our defaults, unless ``settings`` has a key of these."""
        if any(key.startswith(("training", "parallel")) for key in settings):
            return ()
        sequence = self.workload.file.training.document()["sequence"]
        words = f"training.sequence is {sequence}, all degrees of parallel are 1 and compute is an H100's by default"
        return (f"{self.workload.source}: {words}; --set changes them",)


def read_as_model(path: str | os.PathLike[str]) -> ReadModel | None:
    """Return the model of a config.json; None if the file isn't one. Raises InputError with file and key."""
    imported = read_hugging_face(path)
    if imported is None:
        return None
    source = os.fspath(path)
    return ReadModel(
        ModelWorkload(parse_model_file(Document(source, imported.data), SCHEDULES), source), imported.notes
    )
