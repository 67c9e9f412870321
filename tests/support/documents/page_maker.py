"""docs/studies/make_pages.py as a module, for the tests that call it."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from support.documents.pages import ROOT


def load_make_pages() -> ModuleType:
    """Run the script's file as the module ``make_pages``."""
    spec = importlib.util.spec_from_file_location("make_pages", ROOT / "docs" / "studies" / "make_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_pages"] = module
    spec.loader.exec_module(module)
    return module
