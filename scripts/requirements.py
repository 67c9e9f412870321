"""Prints what pyproject.toml asks for, with the extras that are named; one requirement a line.

usage: requirements.py PYPROJECT [EXTRA ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10; the package's build needs tomli there
    import tomli as tomllib

project = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["project"]
wanted = dict.fromkeys(project["dependencies"])
for extra in sys.argv[2:]:
    wanted.update(dict.fromkeys(project["optional-dependencies"][extra]))
print("\n".join(wanted))
