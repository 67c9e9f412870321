"""The kinds of figures by name. A new one is a file here and a line below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIGURE_KINDS: Mapping[str, Any] = dict.fromkeys(("bars", "stacked", "lines", "heatmap", "layers", "table"))
