"""The files of `docker/` agree: with each other, with the scripts that hold their steps, and with what they call."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from support.documents.pages import ROOT

from astra_ns3.cli.commands import COMMANDS, load_command

DOCKER = ROOT / "docker"
SCRIPTS = sorted([*DOCKER.glob("*.sh"), *ROOT.glob("scripts/*.sh"), ROOT / ".ci" / "run"])
STEPS = [
    "/opt/source/docker/packages.sh build",
    "PIP_NO_CACHE_DIR=1 /opt/source/docker/build.sh /opt/astra-ns3",
    "/opt/packages.sh runtime",
]
"""What both recipes run, in this order; everything else about the image is in these scripts."""


def dockerfile() -> list[tuple[str, str]]:
    """The Dockerfile as (instruction, rest), with continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (DOCKER / "Dockerfile").read_text())
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    return [(first, rest) for first, rest in lines]


def runs_of_the_dockerfile() -> list[str]:
    """The commands of the Dockerfile, one by one."""
    return [command.strip() for first, rest in dockerfile() if first == "RUN" for command in rest.split("&&")]


def recipe(section: str) -> list[str]:
    """The lines of all sections of that name in Apptainer's recipe."""
    parts = re.split(r"^(%\w.*|Bootstrap:.*)$", (DOCKER / "apptainer.def").read_text(), flags=re.MULTILINE)
    bodies = [body for head, body in zip(parts[1::2], parts[2::2], strict=True) if head == section]
    return [line.strip() for body in bodies for line in body.splitlines() if line.startswith("    ")]


def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((DOCKER / "compose.yaml").read_text()))


def service(name: str) -> dict[str, Any]:
    return dict(compose()["services"][name])


def options_of(command: click.Command) -> set[str]:
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}


def options_in(words: list[str]) -> set[str]:
    return {word.partition("=")[0] for word in words if word.startswith("--")}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_the_shell_reads_a_script(script: Path) -> None:
    said = subprocess.run(["bash", "-n", script], check=False, capture_output=True, text=True)
    assert (said.returncode, said.stderr) == (0, "")
    assert script.read_text().startswith("#!/usr/bin/env bash") == bool(script.stat().st_mode & 0o100)


def test_the_image_and_the_recipe_for_clusters_run_the_same_scripts() -> None:
    for run in (runs_of_the_dockerfile(), recipe("%post")):
        assert [line for line in run if ".sh" in line and not line.startswith("rm ")] == STEPS


def test_the_recipes_hold_no_steps_of_their_own() -> None:
    simple = re.compile(r"(?:PIP_NO_CACHE_DIR=1 )?(?:/opt/\S+\.sh|rm|useradd|install --directory|check-astra-ns3) ")
    for run in (runs_of_the_dockerfile(), recipe("%post")):
        assert [line for line in run if not simple.match(line)] == []


def test_the_image_and_the_recipe_for_clusters_start_from_one_base() -> None:
    base = dict(rest.split("=") for first, rest in dockerfile() if first == "ARG")["BASE"]
    found = re.findall(r"^From: (.*)$", (DOCKER / "apptainer.def").read_text(), re.MULTILINE)
    assert set(found) == {base}


def test_the_image_and_the_recipe_for_clusters_set_the_same_variables() -> None:
    image = dict(word.split("=", 1) for first, rest in dockerfile() if first == "ENV" for word in rest.split())
    cluster = dict(line.removeprefix("export ").split("=", 1) for line in recipe("%environment"))
    folder = "MPLCONFIGDIR"  # on a cluster /tmp is everybody's
    assert image.pop(folder) in cluster.pop(folder).replace("${TMPDIR:-/tmp}", "/tmp")
    assert image == cluster


def test_what_the_recipes_copy_exists() -> None:
    image = [rest.split()[:-1] for first, rest in dockerfile() if first == "COPY" and "--from" not in rest]
    cluster = [line.split()[:1] for line in recipe("%files")]
    for path in (path for paths in (*image, *cluster) for path in paths):
        assert (ROOT / path).exists(), path


def test_both_recipes_copy_all_that_the_package_is_built_from() -> None:
    setup = (ROOT / "scripts" / "setup.sh").read_text()
    sources = {word for words in re.findall(r"sources\+?=\((.*?)\)", setup) for word in words.split()}
    assert {"astra_ns3", "CMakeLists.txt"} <= sources
    copied = {line.split()[0] for line in recipe("%files")}
    ignored = set((DOCKER / "Dockerfile.dockerignore").read_text().split())
    assert sources | {"scripts", "docker"} <= copied
    assert ignored & copied == set()


def test_the_image_is_run_by_a_user_without_rights() -> None:
    users = [rest for first, rest in dockerfile() if first == "USER"]
    made = re.search(r"useradd .*--uid (\d+) (\w+)", (DOCKER / "Dockerfile").read_text())
    assert made is not None
    assert users == [made[2]]
    assert int(made[1]) >= 1000
    for name in compose()["services"]:
        assert service(name)["user"] == f"${{ASTRA_UID:-{made[1]}}}:${{ASTRA_GID:-{made[1]}}}"


def test_the_compiler_stays_in_the_first_stage() -> None:
    stages = [rest for first, rest in dockerfile() if first == "FROM"]
    assert stages == ["${BASE} AS build", "${BASE}"]


def test_every_service_has_limits_and_says_when_it_is_started_again() -> None:
    services = compose()["services"]
    assert set(services) == {"certificate", "scheduler", "worker", "study"}
    for name in services:
        ends = name in ("certificate", "study")
        assert service(name)["mem_limit"]
        assert service(name)["restart"] == ("no" if ends else "unless-stopped")
        assert ("healthcheck" in service(name)) == (not ends)


def test_workers_and_job_meet_at_the_scheduler_and_share_their_folders() -> None:
    scheduler, worker, study = (service(name) for name in ("scheduler", "worker", "study"))
    port = scheduler["command"][scheduler["command"].index("--port") + 1]
    assert worker["command"][0] == f"tls://scheduler:{port}"
    assert f"--scheduler=tls://scheduler:{port}" in study["entrypoint"]
    assert worker["volumes"] == study["volumes"] == scheduler["volumes"] == service("certificate")["volumes"]
    for asked in (scheduler, worker):
        dashboard = re.search(r"127\.0\.0\.1:(\d{4})\b", " ".join(asked["command"]).partition("--dashboard-address")[2])
        assert dashboard is not None
        assert f":{dashboard[1]}/health" in asked["healthcheck"]["test"][-1]


def settings_of_dask(assignments: dict[str, str]) -> dict[str, str]:
    """What Dask reads of environment variables about TLS, by the key of its configuration."""
    keys = {name.removeprefix("DASK_").lower().replace("__", "."): value for name, value in assignments.items()}
    return {name: value for name, value in keys.items() if name.startswith("distributed.comm.")}


def expected_settings(folder: str) -> dict[str, str]:
    roles = {f"distributed.comm.tls.{role}": folder for role in ("scheduler", "worker", "client")}
    return {
        "distributed.comm.require_encryption": "True",
        "distributed.comm.tls.ca_file": f"{folder}/certificate.pem",
        **{f"{role}.cert": f"{folder}/certificate.pem" for role in roles},
        **{f"{role}.key": f"{folder}/key.pem" for role in roles},
    }


def test_services_and_batch_jobs_talk_to_who_has_their_key_alone() -> None:
    for name in ("scheduler", "worker", "study"):
        assert settings_of_dask(service(name)["environment"]) == expected_settings("/results/.tls")
        assert "ports" not in service(name)
    assert service("certificate")["entrypoint"] == ["astra-ns3-certificate", "/results/.tls"]
    text = (DOCKER / "slurm.sh").read_text()
    lines = "\n".join(
        line for line in text.splitlines() if "DASK_DISTRIBUTED__COMM" in line or line.startswith("for role")
    )
    done = subprocess.run(
        ["bash", "-c", f"keys=/keys\n{lines}\ndone\nenv"], check=True, capture_output=True, text=True, env={}
    )
    assert settings_of_dask(dict(re.findall(r"^(\w+)=(.*)$", done.stdout, re.MULTILINE))) == expected_settings("/keys")
    assert "dask scheduler --protocol tls " in text


def test_a_certificate_is_for_its_owner_and_made_once(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("needs the program openssl, which the image has")
    folder = tmp_path / "tls"
    subprocess.run([DOCKER / "certificate.sh", folder], check=True)
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    assert [path.stat().st_mode & 0o777 for path in (folder, key, certificate)] == [0o700, 0o600, 0o600]
    before = key.read_bytes()
    subprocess.run([DOCKER / "certificate.sh", folder], check=True)
    assert key.read_bytes() == before
    certificate.write_text("")
    subprocess.run([DOCKER / "certificate.sh", folder], check=True)
    assert key.read_bytes() != before


def test_the_job_plays_a_study_that_exists() -> None:
    study = service("study")["entrypoint"][2]
    file = re.sub(r"\$\{STUDY:-(\w+)\}", r"\1", study)
    assert (ROOT / file.removeprefix("/")).is_file()


def test_what_the_services_call_has_the_options_they_give() -> None:
    workers = pytest.importorskip("distributed.cli.dask_worker").main
    scheduler = pytest.importorskip("distributed.cli.dask_scheduler").main
    study = service("study")
    assert options_in(service("scheduler")["command"]) <= options_of(scheduler)
    assert options_in(service("worker")["command"]) <= options_of(workers)
    assert options_in([*study["entrypoint"]]) <= options_of(load_command(COMMANDS["study"][0]))


def test_the_page_names_every_setting_of_the_services() -> None:
    settings = set(re.findall(r"\$\{(\w+):-", (DOCKER / "compose.yaml").read_text()))
    page = (ROOT / "docs" / "containers.md").read_text()
    assert [name for name in sorted(settings) if f"`{name}`" not in page] == []


def test_the_continuous_integration_runs_the_steps() -> None:
    assert re.search(r"^ *docker/build\.sh ", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    build = (DOCKER / "build.sh").read_text()
    assert "docker/prune.py" in build
    assert "docker/check.sh" in build
