"""Tells whether the files of a saved run are still those that the run wrote.

run.json holds the SHA-256 of each file of the run, and one of itself. They are looked at only where reading a run
fails: a file that was edited and can still be read is the user's affair.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from astra_ns3.errors import AstraNs3Error, wrong
from astra_ns3.experiments.replacing import whole_run
from astra_ns3.network.run_document import RunDocument
from astra_ns3.whole_file import RUN_FILE

DIGESTS = "digests"
DIGEST = "digest"
_PART_BYTES = 1 << 20


def sealed(document: RunDocument, folder: Path) -> RunDocument:
    """Return run.json's ``document`` with the SHA-256 of each file that it lists, and of itself as its last key.

    Raises OSError if a file of ``folder`` can't be read.
    """
    names = [name for name in document.get("files", ()) if name != RUN_FILE]
    whole: RunDocument = {**document, "digests": {name: _digest_of(folder / name) for name in names}}
    return {**whole, "digest": _own_digest(whole)}


def resealed(document: RunDocument) -> RunDocument:
    """Return run.json's ``document`` with the SHA-256 of what it is now."""
    rest: RunDocument = {**document}
    rest.pop("digest", None)
    return {**rest, "digest": _own_digest(rest)}


def as_text(document: RunDocument) -> str:
    """Return the text of a run.json."""
    return json.dumps(document, indent=2) + "\n"


@contextmanager
def blaming_damage(folders: Iterable[str | os.PathLike[str]]) -> Iterator[None]:
    """Turn what fails while runs are read into an InputError that names the damaged file.

    What fails although every file is as it was written is a fault of this program, and is raised as it is.
    """
    try:
        yield
    except AstraNs3Error:
        raise
    except Exception as error:
        for folder in folders:
            damage = _damage(whole_run(Path(folder)))
            if damage is not None:
                raise wrong(f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}", damage) from error
        raise


def _damage(folder: Path) -> str | None:
    """Return which file of the run in ``folder`` isn't as the run wrote it, and why; None if all are."""
    file = folder / RUN_FILE
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        digests = dict(document[DIGESTS])
        intact = document[DIGEST] == _own_digest({key: value for key, value in document.items() if key != DIGEST})
    except Exception:  # whatever somebody made of it, it is not what a run writes
        return f"{file}: is damaged, or was written by an earlier version"
    if not intact:
        return f"{file}: was changed since the run wrote it, and can't be read"
    for name, digest in digests.items():
        if not (folder / name).is_file():
            return f"{folder / name}: is missing"
        if _digest_of(folder / name) != digest:
            return f"{folder / name}: was changed since the run wrote it, and can't be read"
    return None


def _own_digest(document: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode("utf-8")).hexdigest()


def _digest_of(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while part := content.read(_PART_BYTES):
            digest.update(part)
    return digest.hexdigest()
