"""Files that commands write: whole or not at all, never in another's place unasked, and not through links."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.small_run import small_run

import astra_ns3
from astra_ns3.cli.main import status_of
from astra_ns3.errors import InputError
from astra_ns3.report.timeline.timeline import write_timeline
from astra_ns3.whole_file import check_free, whole_file


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    precious, link = tmp_path / "precious", tmp_path / "link"
    precious.write_text("mine", encoding="utf-8")
    link.symlink_to(precious)
    with whole_file(link) as partial:
        partial.write_text("new", encoding="utf-8")
    assert (precious.read_text(encoding="utf-8"), link.read_text(encoding="utf-8")) == ("mine", "new")
    assert not link.is_symlink()


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old", encoding="utf-8")

    def fail_half_way() -> None:
        with whole_file(file) as partial:
            partial.write_text("half", encoding="utf-8")
            raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        fail_half_way()
    assert [(entry.name, entry.read_text(encoding="utf-8")) for entry in tmp_path.iterdir()] == [("file", "old")]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    told = pytest.raises(InputError, match=r"nowhere/file: cannot be written: No such file")
    with told, whole_file(tmp_path / "nowhere" / "file") as partial:
        partial.write_text("new", encoding="utf-8")


def test_a_link_to_nowhere_takes_a_name_too(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="exists already"):
        check_free(tmp_path / "link", overwrite=False)


@pytest.mark.parametrize("words", [("report",), ("plot", "layers"), ("timeline",)])
def test_an_existing_file_is_replaced_only_if_asked(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endings = {"report": "html", "plot": "svg", "timeline": "pftrace"}
    folder, target = tmp_path / "run", tmp_path / f"target.{endings[words[0]]}"
    astra_ns3.run(**small_run(), output=folder)
    target.write_text("mine", encoding="utf-8")
    command = [words[0], str(folder), *words[1:], "-o", str(target)]
    assert status_of(command) == 2
    assert f"{target}: exists already; name another file or use --overwrite" in capsys.readouterr().err
    assert target.read_text(encoding="utf-8") == "mine"
    assert status_of([words[0], str(tmp_path), *words[1:], "-o", str(target)]) == 2
    assert f"{tmp_path}: is not the folder of a run" in capsys.readouterr().err  # told before what is in the way
    assert status_of([*command, "--overwrite"]) == 0
    assert target.read_bytes() != b"mine"


@pytest.mark.parametrize("name", ["run.json", "npus.csv"])
def test_no_command_replaces_a_file_of_a_run(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    result = astra_ns3.run(**small_run(), output=folder)
    before = (folder / name).read_bytes()
    assert status_of(["timeline", str(folder), "-o", str(folder / name), "--overwrite"]) == 2
    said = f"{folder / name}: is a file of the run in this folder, which can't be read without it; name another"
    assert said in capsys.readouterr().err
    with pytest.raises(InputError, match="is a file of the run"):
        write_timeline(result, folder / name)
    assert (folder / name).read_bytes() == before
    for command, other in (("timeline", "page.pftrace"), ("report", "page.html"), ("report", "page.html")):
        assert status_of([command, str(folder), "-o", str(folder / other), "--overwrite"]) == 0


def test_tables_of_a_study_are_written_by_itself_alone(tmp_path: Path) -> None:
    (tmp_path / ".study.json").write_text("{}", encoding="utf-8")
    for name in ("study.csv", "index.html"):
        (tmp_path / name).write_text("old", encoding="utf-8")
    with pytest.raises(InputError, match=r"study.csv: is a file of the study in this folder"):
        check_free(tmp_path / "study.csv", overwrite=True)
    with whole_file(tmp_path / "study.csv", by_owner=True) as partial:
        partial.write_text("new", encoding="utf-8")
    check_free(tmp_path / "index.html", overwrite=True)
    check_free(tmp_path / "new.csv", overwrite=False)


def test_the_table_of_varied_plans_and_what_their_page_is_made_of_are_written_by_themselves_alone(
    tmp_path: Path,
) -> None:
    names = ("vary.json", "vary.csv")
    for name in names:
        (tmp_path / name).write_text("old", encoding="utf-8")
    for name in names:
        with pytest.raises(InputError, match=rf"{name}: is a file of the plans in this folder"):
            check_free(tmp_path / name, overwrite=True)
    (tmp_path / "vary.json").unlink()
    check_free(tmp_path / "vary.csv", overwrite=True)


def test_the_outcome_of_a_point_is_written_by_its_study_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says that the point is finished; a file of its name elsewhere is the user's own."""
    point = tmp_path / "study" / "points" / "0123"
    point.mkdir(parents=True)
    (tmp_path / "study" / ".study.json").write_text("{}", encoding="utf-8")
    for folder in (point, tmp_path):
        (folder / "point.json").write_text("{}", encoding="utf-8")
    monkeypatch.chdir(point)
    for path in (point / "point.json", Path("point.json")):
        with pytest.raises(InputError, match=r"point.json: is a file of the point in this folder"):
            check_free(path, overwrite=True)
    check_free(tmp_path / "point.json", overwrite=True)
    assert status_of(["show", "collective", "ring", "-o", "point.json", "--overwrite"]) == 2
    assert "point.json: is a file of the point" in capsys.readouterr().err
    assert (point / "point.json").read_text(encoding="utf-8") == "{}"


@pytest.mark.parametrize(
    "command",
    [
        ["show", "network", "inputs/network/ring-8.yaml", "--export"],
        ["show", "collective", "ring", "-o"],
        ["show", "workload", "inputs/workload/micro-all-reduce.txt", "-o"],
    ],
)
def test_what_show_draws_and_exports_replaces_nothing_unasked(
    command: list[str], repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    target = tmp_path / ("network.json" if "network" in command else "picture.png")
    target.write_text("mine", encoding="utf-8")
    assert status_of([*command, str(target)]) == 2
    assert target.read_text(encoding="utf-8") == "mine"
    assert status_of([*command, str(target), "--overwrite"]) == 0


def test_nobody_can_tell_the_name_of_an_unfinished_file_and_the_whole_one_has_usual_rights(tmp_path: Path) -> None:
    partials = []
    for _ in range(2):
        with whole_file(tmp_path / "file.svg") as partial:
            partial.write_text("new", encoding="utf-8")
            assert partial.parent.stat().st_mode & 0o077 == 0
            partials.append(partial)
    assert partials[0] != partials[1]
    assert {partial.suffix for partial in partials} == {".svg"}
    (tmp_path / "usual").touch()
    assert (tmp_path / "file.svg").stat().st_mode == (tmp_path / "usual").stat().st_mode
