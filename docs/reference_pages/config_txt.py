"""Keys of a config.txt of HPCC's lineage, and the keys of a network file that they become."""

from __future__ import annotations

from astra_ns3.config.formats.hpcc_keys import BECOMES, KEYS, WITHOUT_EFFECT
from reference_pages.markdown import cell, code, table

_BEGIN = """# Keys of a config.txt

Made from the code. [How such a file is read](../network-file.md#configtxt-of-hpcc-and-astra-network-ns3).
One warning names the keys of a file that have no effect.
"""


def config_txt_page() -> str:
    """Return the page: a row for each key."""
    rows = [(code(key), cell(BECOMES.get(key) or f"no effect: {WITHOUT_EFFECT[key]}")) for key in sorted(KEYS)]
    return f"{_BEGIN}\n{table(('Key', 'Becomes'), rows)}"
