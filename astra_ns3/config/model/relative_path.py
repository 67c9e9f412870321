"""A path in a model file, as seen from its folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from annotated_types import MinLen
from pydantic import AfterValidator, ValidationInfo

from astra_ns3.config.core.model import FOLDER


def from_the_file(path: str, info: ValidationInfo) -> str:
    """Absolute, if it is known which folder the file stands in; so what is read again means the same file."""
    folder = (info.context or {}).get(FOLDER)
    return path if folder is None else os.path.normpath(Path.cwd() / folder / path)


RelativePath = Annotated[str, MinLen(1), AfterValidator(from_the_file)]
