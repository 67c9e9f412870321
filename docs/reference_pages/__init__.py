"""The reference, made from the code as pages of Markdown; ``docs/conf.py`` puts them into the site.

Nothing here needs Sphinx, so tests read the same pages. A page in ``docs/reference/`` is a stub with its title, which
stands for the page where the repository is browsed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_pages.commands import commands_page
from reference_pages.config_txt import config_txt_page
from reference_pages.devices import devices_page
from reference_pages.functions import functions_page
from reference_pages.keys import FILES, keys_page
from reference_pages.names import names_page
from reference_pages.own_control import own_control_page
from reference_pages.rules import rules_page
from reference_pages.run_json import run_json_page
from reference_pages.tables import tables_page

PAGES: Mapping[str, Callable[[], str]] = {
    **{f"reference/{name}-keys": lambda name=name: keys_page(name) for name in FILES},
    "reference/config-txt": config_txt_page,
    "reference/names": names_page,
    "reference/rules": rules_page,
    "reference/devices": devices_page,
    "reference/own-control": own_control_page,
    "reference/tables": tables_page,
    "reference/run-json": run_json_page,
    "reference/commands": commands_page,
    "reference/python-api": functions_page,
}
"""Name of a page, as Sphinx has it -> what makes its Markdown."""
