"""Nobody else gets into a study: a local one opens no door at all, one on a cluster only to who has the key."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.study_points import (
    begun,
    cluster_process,
    harmful_file,
    points,
    processes_of,
    study_process,
    wait_until,
)

from astra_ns3.errors import InputError
from astra_ns3.studies.playing import play_tasks
from astra_ns3.studies.store import Store
from astra_ns3.studies.workers.cluster import tls_files

NOBODY = 65534
LISTENING_TCP = "0A"
LISTENING_UNIX = 1 << 16
"""__SO_ACCEPTCON of the kernel, in the column Flags of /proc/net/unix."""


def sockets_of(pids: list[int]) -> set[str]:
    """The numbers of the sockets that the processes hold."""
    found = set()
    for pid in pids:
        for file in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                match = re.fullmatch(r"socket:\[(\d+)\]", str(file.readlink()))
            except OSError:
                continue
            found |= {match[1]} if match else set()
    return found


def doors(sockets: set[str]) -> Iterator[str]:
    """Those of ``sockets`` to which another process could connect or send, each as its line of /proc/net."""
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        table = Path(f"/proc/net/{kind}")
        for line in table.read_text(encoding="ascii").splitlines()[1:] if table.exists() else ():
            words = line.split()
            if words[9] in sockets and (kind.startswith("udp") or words[3] == LISTENING_TCP):
                yield line
    for line in Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace").splitlines()[1:]:
        words = line.split(maxsplit=7)
        if words[6] in sockets and (int(words[3], 16) & LISTENING_UNIX or len(words) > 7):
            yield line


def entered_as_another_user(pids: list[int]) -> list[str]:
    """What a user without rights could open of the processes' files, sockets and memory."""
    paths = [str(path) for pid in pids for path in (*Path(f"/proc/{pid}/fd").glob("*"), Path(f"/proc/{pid}/mem"))]
    program = 'for path; do if (exec 3<"$path") 2>/dev/null; then echo "$path"; fi; done'
    done = subprocess.run(
        ["/bin/sh", "-c", program, "sh", *paths],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        check=True,
        capture_output=True,
        text=True,
        cwd="/",
        env={},
    )
    return done.stdout.split()


def test_a_local_study_opens_no_door_and_another_user_gets_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX) as named:
        named.bind("\0" + uuid.uuid4().hex)
        named.listen()
        assert len(list(doors(sockets_of([os.getpid()])))) >= 2  # what is looked for would be found
    for name in ("dask", "distributed"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('a local study needs no Dask')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    store, mark = Store(tmp_path / "store"), uuid.uuid4().hex
    with study_process(mark, store.folder, 2, f"{harmful_file(tmp_path)}:linger"):
        wait_until(lambda: len(begun(store)) == 2, "two points that are played")
        everybody = 7  # the client; two workers, servers and children
        wait_until(lambda: len(processes_of(mark)) >= everybody, "all processes of the study")
        pids = processes_of(mark)
        sockets = sockets_of(pids)
        assert len(sockets) >= 4
        assert list(doors(sockets)) == []
        if os.getuid() == 0:
            assert entered_as_another_user(pids) == []
        writable = [path for path in store.folder.rglob("*") if path.stat().st_mode & 0o002 and not path.is_symlink()]
        assert writable == []


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, tuple[str, str, str]]:
    """Of a cluster and of a stranger: who signs, a certificate and its key."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("needs the program openssl, to make certificates")
    found = {}
    for name in ("cluster", "stranger"):
        certificate, key = str(tmp_path / f"{name}.pem"), str(tmp_path / f"{name}-key.pem")
        words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        words += ["-subj", "/CN=astra-ns3", "-out", certificate, "-keyout", key]
        subprocess.run([program, *words], check=True, capture_output=True)
        found[name] = (certificate, certificate, key)
    return found


@pytest.mark.slow
def test_a_scheduler_with_tls_plays_for_who_has_the_key_and_for_nobody_else(
    tmp_path: Path, keys: dict[str, tuple[str, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    dask = pytest.importorskip("distributed") and pytest.importorskip("dask")
    monkeypatch.setattr("astra_ns3.studies.workers.cluster._CONNECT_SECONDS", 2.0)
    store, mark = Store(tmp_path / "store"), uuid.uuid4().hex
    first, second = points(store, 2)
    authority, certificate, key = keys["cluster"]
    options = ["--protocol", "tls", "--tls-ca-file", authority, "--tls-cert", certificate, "--tls-key", key]
    with cluster_process(mark, tmp_path, 1, *options) as scheduler:
        assert scheduler.startswith("tls://")
        for security in (None, tls_files(*keys["stranger"])):
            with pytest.raises(InputError, match=rf"scheduler {scheduler}: cannot be reached"):
                play_tasks([first], store=store, scheduler=scheduler, security=security)
        with pytest.raises(InputError, match="cannot be reached"):
            play_tasks([first], store=store, scheduler=scheduler.replace("tls://", "tcp://"))
        outcomes = play_tasks([first], store=store, scheduler=scheduler, security=tls_files(*keys["cluster"]))
        assert outcomes[first.address].status == "done"
        files = {"ca-file": authority, "client.cert": certificate, "client.key": key}
        with dask.config.set({f"distributed.comm.tls.{name}": file for name, file in files.items()}):
            outcomes = play_tasks([second], store=store, scheduler=scheduler)
        assert outcomes[second.address].status == "done"
