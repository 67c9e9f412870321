"""An option is declared once: as a field of the request, from which the rest is made."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

import click
import pytest
from support.small_run import small_run

import astra_ns3
from astra_ns3.cli.options import input_parameters, run_parameters, values
from astra_ns3.errors import InputError
from astra_ns3.experiments.calls import run_of
from astra_ns3.experiments.option import Flag, option, options_of
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.result import Result
from astra_ns3.network.api import Limits

PACKAGE = Path(astra_ns3.__file__).parent


@dataclass(frozen=True, kw_only=True)
class Larger(RunRequest):
    """A request with one more option."""

    dice: int | None = option(None, "how often to throw; None: never.", Flag("-d --dice", help="Throws."))
    loud: bool = option(False, "say so.", Flag("--loud", help="Loud."))
    secret: float = option(0.5, "not on the command line.")


def test_a_field_more_is_an_argument_more_and_is_explained() -> None:
    plain, larger = inspect.signature(astra_ns3.run), inspect.signature(run_of(Larger, Result, "run", ""))
    assert [name for name in larger.parameters if name not in plain.parameters] == ["dice", "loud", "secret"]
    assert str(larger.parameters["dice"]) == "dice: 'int | None' = None"
    documented = run_of(Larger, Result, "run", "").__doc__ or ""
    assert "    dice: how often to throw; None: never.\n" in documented
    assert set(larger.parameters) == {field.name for field in fields(Larger)}


def test_a_field_more_is_an_option_of_the_command_line_more() -> None:
    seeds = click.Option(["--seeds"])
    known = {parameter.name for parameter in run_parameters(RunRequest, seeds)}
    parameters = run_parameters(Larger, seeds)
    assert [parameter.opts for parameter in parameters if parameter.name not in known] == [["-d", "--dice"], ["--loud"]]
    command = click.Command("run", params=parameters, callback=lambda **words: words)
    words = command.main(["-w", "w", "-s", "s", "-n", "n", "-d", "4", "--loud"], standalone_mode=False)
    request = Larger(**values(options_of(Larger), words))
    assert (request.dice, request.loud, request.secret, request.workload) == (4, True, 0.5, "w")
    assert request == Larger(workload="w", system="s", network="n", dice=4, loud=True)


def test_a_bool_and_a_name_more_are_checked_without_a_line() -> None:
    with pytest.raises(InputError, match="loud is 1, expected True or False"):
        Larger(workload="w", system="s", network="n", loud=1).check()  # type: ignore[arg-type]


def test_the_words_of_several_flags_make_one_option() -> None:
    words = dict.fromkeys((parameter.name or "" for parameter in input_parameters(RunRequest)), None)
    limits = {"limit_simulated_time": 5, "limit_wall_time": 2 * 10**12, "limit_memory": None}
    others = {"path": None, "overwrite": False, "run_name": "run", "seed": 1, "record": (), "hook": None}
    others |= {"live": False, "cores": 2}
    found = values(options_of(RunRequest), {**words, **others, **limits})
    assert found["limits"] == Limits(5, 2.0, None)
    assert "on_built" not in found


def test_type_checkers_see_every_argument_of_run() -> None:
    """That each comment is needed is seen by mypy, which warns of one that is not."""
    with pytest.raises(TypeError):
        astra_ns3.run(workload="w", system="s", network="n", pases=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        astra_ns3.run(workload="w", system="s")  # type: ignore[call-arg]
    with pytest.raises(InputError, match="passes is '1'"):
        astra_ns3.run(workload="w", system="s", network="n", passes="1")  # type: ignore[arg-type]
    result: astra_ns3.Result = astra_ns3.run(**small_run())
    assert result.complete


def test_run_takes_keywords_alone_and_explains_each() -> None:
    signature = inspect.signature(astra_ns3.run)
    assert {parameter.kind for parameter in signature.parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    needed = [name for name, parameter in signature.parameters.items() if parameter.default is parameter.empty]
    assert needed == ["workload", "system", "network"]
    assert list(signature.parameters)[:3] == needed
    arguments = (astra_ns3.run.__doc__ or "").partition("Raises:")[0]
    explained = re.findall(r"^    (\w[a-z_, ]*):", arguments, re.MULTILINE)
    assert [name for names in explained for name in names.split(", ")] == list(signature.parameters)
    assert astra_ns3.run.__name__ == astra_ns3.run.__qualname__ == "run"


def test_limits_and_names_of_tables_may_be_left_out_or_given_in_several_ways() -> None:
    files: Any = {"workload": "w", "system": "s", "network": "n"}
    assert RunRequest(**files, limits=None).end == Limits() == RunRequest(**files).end
    assert RunRequest(**files, record="flows").record == ("flows",)
    assert RunRequest(**files, record=iter(["flows", "layers"])).record == ("flows", "layers")


def test_no_option_is_named_in_a_second_place() -> None:
    flags = [word for each in options_of(RunRequest) for flag in each.flags for word in flag.names.split()]
    assert len(flags) > 30
    declared = {PACKAGE / "experiments" / name for name in ("options.py", "request.py")}
    others = [PACKAGE / "cli" / name for name in ("options.py", "run.py", "validate.py", "main.py")]
    others += [path for path in PACKAGE.glob("experiments/**/*.py") if path not in declared]
    texts = {path.name: path.read_text(encoding="utf-8") for path in others}
    assert [(name, word) for name, text in texts.items() for word in flags if f'"{word}"' in text] == []


def test_run_tells_of_its_arguments_by_its_own_name_and_types() -> None:
    any_run: Any = astra_ns3.run
    for files, options in ((("w", "s", "n"), {}), ((), {"workload": "w", "spead": 1})):
        with pytest.raises(TypeError, match=r"^run\(\): "):
            any_run(*files, **options)
    hints = get_type_hints(astra_ns3.run)
    assert hints["passes"] is int
    assert hints["return"] is astra_ns3.Result
