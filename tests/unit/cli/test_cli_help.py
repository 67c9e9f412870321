"""The help of every command opens with two examples that it takes, and has its options in groups."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from astra_ns3.cli.commands import COMMANDS, load_command
from astra_ns3.cli.help import Command, CommandGroup
from astra_ns3.cli.main import cli
from astra_ns3.report.pictures.kinds import IN_FILES

ROOT = Path(__file__).resolve().parents[3]
MOST_IN_A_GROUP = 10


def commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, each with its words."""
    yield name, command
    for below, each in getattr(command, "commands", {}).items():
        yield from commands(f"{name} {below}", each)


ALL = {"astra-ns3": cli} | {
    words: command
    for name, (place, _) in COMMANDS.items()
    for words, command in commands(f"astra-ns3 {name}", load_command(place))
}


def help_of(words: str) -> str:
    command = ALL[words]
    return command.get_help(click.Context(command, info_name=words))


def parsed(example: str) -> click.Command:
    """The command that an example calls, once its options are read; nothing is done."""
    program, *words = shlex.split(example)
    assert program == "astra-ns3"
    context, command = click.Context(cli), load_command(COMMANDS[words[0]][0])
    words = words[1:]
    while isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    command.make_context("x", words, parent=context)
    return command


@pytest.mark.parametrize("words", ALL)
def test_help_opens_with_two_examples_that_the_command_takes(words: str) -> None:
    command = ALL[words]
    assert isinstance(command, (Command, CommandGroup))
    assert len(command.examples) == 2
    lines = help_of(words).splitlines()
    assert lines[0] == "Examples:"
    shown = " ".join(line.removesuffix("\\").strip() for line in lines[1 : lines.index("")])
    assert shlex.split(shown) == [word for example in command.examples for word in shlex.split(example)]
    for example in command.examples:
        called = parsed(example)
        assert isinstance(command, click.Group) or called is command
        files = [word for word in shlex.split(example) if word.startswith("inputs/")]
        assert [file for file in files if not (ROOT / file).exists()] == []


def test_the_second_example_of_the_program_plays_what_the_first_has_written() -> None:
    first, second = map(shlex.split, cli.examples)
    assert first[:2] == ["astra-ns3", "example"]
    files = [word for word in second if "/" in word]
    assert {file.split("/")[0] for file in files} == {first[2]}
    assert [file for file in files if not (ROOT / file.replace(first[2], "inputs", 1)).exists()] == []


@pytest.mark.parametrize("words", ALL)
def test_no_line_of_help_is_wider_than_a_terminal(words: str) -> None:
    assert [line for line in help_of(words).splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("words", [words for words, command in ALL.items() if isinstance(command, click.Group)])
def test_no_command_of_a_list_is_cut(words: str) -> None:
    assert [line for line in help_of(words).split("Commands:")[1].splitlines() if line.endswith("...")] == []


@pytest.mark.parametrize(
    ("words", "meant"),
    [("rn", "run"), ("reprot", "report"), ("show colective", "collective"), ("generate flows poison", "poisson")],
)
def test_an_unknown_command_is_told_the_one_that_is_meant(words: str, meant: str) -> None:
    with pytest.raises(click.UsageError, match=f"No such command '{words.split()[-1]}'; did you mean '{meant}'"):
        cli.main(words.split(), standalone_mode=False)


def test_an_unknown_command_that_is_near_none_is_told_which_there_are() -> None:
    with pytest.raises(click.UsageError, match=r"No such command 'network'; there are flows, workload$"):
        cli.main(["generate", "network"], standalone_mode=False)


@pytest.mark.parametrize(
    ("words", "meant"), [("run --workloa x", "--workload"), ("show collective --rank 8", "--ranks")]
)
def test_an_unknown_option_is_told_the_one_that_is_meant(words: str, meant: str) -> None:
    with pytest.raises(click.NoSuchOption) as raised:
        cli.main(words.split(), standalone_mode=False)
    assert f"'{meant}'" in raised.value.format_message()


def test_files_without_options_are_told_beside_the_option_that_is_missing() -> None:
    with pytest.raises(click.UsageError, match=r"Missing option '-w'.* 'w.txt' is behind no option\."):
        cli.main(["run", "w.txt", "-s", "s.yaml"], standalone_mode=False)


def test_an_option_for_what_the_network_file_says_is_told_its_key() -> None:
    with pytest.raises(click.UsageError, match=r"No such option '--npus'.* --set network\.topology\.npus=N"):
        cli.main(["run", "--npus", "16"], standalone_mode=False)


@pytest.mark.parametrize("words", [words for words, command in ALL.items() if not isinstance(command, click.Group)])
def test_a_long_list_of_options_is_in_groups_and_none_is_left_out(words: str) -> None:
    command = ALL[words]
    assert isinstance(command, Command)
    options = [each for each in command.get_params(click.Context(command)) if isinstance(each, click.Option)]
    shown = [each for each in options if not each.hidden]
    text = help_of(words)
    assert [each.opts[-1] for each in shown if each.opts[-1] not in text] == []
    if len(shown) > MOST_IN_A_GROUP:
        assert len(command.groups) > 1
    if command.groups:
        names = {str(each.name) for each in shown}
        assert max(len(names & set(group)) for group in command.groups.values()) <= MOST_IN_A_GROUP
        of_groups = [name for group in command.groups.values() for name in group]
        assert len(of_groups) == len(set(of_groups))
        rest = {str(each.name) for each in shown if "--help" not in each.opts} - set(of_groups)
        assert rest <= {"as_json", "quiet", "live", "log_level"}


def test_help_of_plot_names_every_kind() -> None:
    words = help_of("astra-ns3 plot").split("KIND is ")[1].split(".")[0]
    assert set(words.replace(",", "").replace(" or ", " ").split()) == {kind.name for kind in IN_FILES}


def test_run_has_the_headings_that_one_looks_for() -> None:
    headings = [line[:-1] for line in help_of("astra-ns3 run").splitlines() if line.endswith(":") and line[0] != " "]
    expected = ["Inputs", "Size of the run", "Rules", "Seeds", "Output", "Records", "Limits"]
    assert headings == ["Examples", *expected, "Messages and help"]


def test_no_word_of_a_list_of_columns_is_broken() -> None:
    assert "[default: folder, name, workload, npus, backend," in " ".join(help_of("astra-ns3 runs").split())


@pytest.mark.parametrize(
    ("name", "option", "why"),
    [
        ("plan", "--overwrite", "a plan replaces the tables of an earlier one"),
        ("budget", "--overwrite", "a budget replaces the tables of an earlier one"),
        ("validate", "--record", "nothing is written"),
        ("validate", "-o", "nothing is written"),
    ],
)
def test_an_option_of_other_commands_is_refused_with_what_to_do_instead(name: str, option: str, why: str) -> None:
    command = load_command(COMMANDS[name][0])
    with pytest.raises(click.UsageError, match=f"No such option '{option}': {why}.*; leave it out."):
        command.make_context(name, [option, "x"])
