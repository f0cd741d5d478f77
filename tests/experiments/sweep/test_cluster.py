"""A sweep on a Dask cluster gives the same set, also when a worker is killed in the middle."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.running import run
from experiments.sweep.test_sweep import PROGRAM, finish, finished, lines, start

from dipapprox.errors import UserError
from dipapprox.experiments.sweep.cluster import run_on_cluster
from tests.waiting import wait_until

pytest.importorskip("distributed")

SPEC = """[[grid]]
task = "verify"
programs = ["svt.dpg"]
parameters = { N = [1, 2] }
eps = [0.1, 1]
delta = [0, 0.01]
"""


@contextlib.contextmanager
def dask(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process of the cluster."""
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_lost_worker_loses_no_case(tmp_path: Path) -> None:
    (tmp_path / "svt.dpg").write_text(PROGRAM)
    (tmp_path / "grid.toml").write_text(SPEC)
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    file = tmp_path / "scheduler.json"
    words = ("dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    with dask(*words) as scheduler:
        wait_until(lambda: _address(file) is not None, scheduler)
        worker = [
            "dask_worker",
            "--scheduler-file",
            str(file),
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
        ]
        address = _address(file)
        assert address is not None
        with dask(*worker) as doomed, dask(*worker):
            running = start(tmp_path / "grid.toml", there, "--cluster", address)
            wait_until(lambda: finished(there) >= 2, running)
            doomed.kill()
            status, text, err = finish(running)
    assert status == 0, err
    assert "8 cases: 0 finished before, 8 now" in text
    assert run("sweep", str(tmp_path / "grid.toml"), "--out", str(here))[0] == 0
    assert lines(there) == lines(here)


def test_no_cluster_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dipapprox.experiments.sweep.cluster._PATIENCE", "1s")
    with pytest.raises(UserError, match="there is no Dask scheduler"):
        next(iter(run_on_cluster(iter(()), "tcp://127.0.0.1:9")))

    for address in ("here", "tcp://here", "tcp://here:port"):
        with pytest.raises(UserError, match="is no address"):
            next(iter(run_on_cluster(iter(()), address)))


def _address(file: Path) -> str | None:
    """The address that the scheduler has written; None before it is there as a whole."""
    try:
        return str(json.loads(file.read_text())["address"])
    except (OSError, ValueError):
        return None
