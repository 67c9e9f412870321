"""A model file of any kind, read: which kinds there are, and what is in a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import get_args

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import shown, validated
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.model.convolution import ConvolutionFile
from astra_ns3.config.model.dlrm import DlrmFile
from astra_ns3.config.model.gemms import GemmsFile
from astra_ns3.config.model.parallel import SCHEDULES
from astra_ns3.config.model.recurrent import RecurrentFile
from astra_ns3.config.model.transformer import TransformerFile
from astra_ns3.errors import nearest, wrong

ModelFile = TransformerFile | ConvolutionFile | RecurrentFile | DlrmFile | GemmsFile
"""All that a file may hold."""
KINDS: dict[str, type[ModelFile]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(ModelFile)
}
"""By the word after ``kind``."""


def read_model_file(path: str | os.PathLike[str], schedules: Iterable[str] | None = None) -> ModelFile:
    """Read a model file; ``schedules``: those there are, if known. Raises InputError with file, line and key."""
    return parse_model_file(parse_yaml(read_text(path), os.fspath(path)), schedules)


def parse_model_file(document: Document, schedules: Iterable[str] | None = None) -> ModelFile:
    """The model that a document describes; raises InputError with its place."""
    data = document.data if isinstance(document.data, dict) else {}
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        found = f"found {shown(kind)}" if "kind" in data else "is missing"
        raise wrong(
            f"key 'kind': {found}, allowed: {', '.join(KINDS)}{nearest(str(kind), KINDS)}", document.where(("kind",))
        )
    known = None if schedules is None else tuple(schedules)
    return validated(KINDS[kind], document, {SCHEDULES: known})
