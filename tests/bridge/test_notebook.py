"""docs/first-look.ipynb, executed as its reader would: no error, and something is shown."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient


@pytest.mark.xdist_group("notebook")
@pytest.mark.slow
def test_the_first_look_runs_from_its_first_cell_to_its_last(repository: Path) -> None:
    pytest.importorskip("matplotlib")
    text = (repository / "docs" / "first-look.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code"), "kept without outputs"
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(repository)}}).execute()
    shown = {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}
    assert [cell for cell, outputs in shown.items() if not outputs] == []
    printed = "".join(output.get("text", "") for outputs in shown.values() for output in outputs)
    assert "the chain that determines the end" in printed
    assert "us with DCQCN" in printed
    pictures = sum("image/png" in output.get("data", {}) for outputs in shown.values() for output in outputs)
    assert pictures == 3
