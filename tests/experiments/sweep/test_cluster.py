"""A sweep on a Dask cluster gives the same set, also when a worker is killed in the middle."""

import contextlib
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from experiments.sweep.test_sweep import PROGRAM, finish, lines, start

from dipapprox.errors import UserError
from dipapprox.experiments.sweep import pool as cluster
from dipapprox.experiments.sweep.pool import Pool, run_on_cluster
from dipapprox.experiments.sweep.spec import cases_of, read_spec
from tests.cases import refuses, template_of

pytest.importorskip("distributed")

SPEC = template_of("cluster-spec")


@contextlib.contextmanager
def dask(*words: str) -> Iterator[subprocess.Popen[bytes]]:
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


def test_a_lost_worker_loses_no_case(tmp_path) -> None:
    (tmp_path / "svt.dpg").write_text(PROGRAM)
    (tmp_path / "grid.toml").write_text(SPEC)
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    file = tmp_path / "scheduler.json"
    with dask("dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)):
        while not (file.exists() and file.read_text().endswith("}")):
            time.sleep(0.05)
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
        with dask(*worker) as doomed, dask(*worker):
            running = start(tmp_path / "grid.toml", there, "--cluster", address)
            while not there.exists() or len(there.read_text().splitlines()) < 4:
                time.sleep(0.02)
                assert running.poll() is None or running.returncode == 0
            doomed.kill()
            status, text, err = finish(running)
    assert status == 0, err
    assert "80 cases: 0 finished before, 80 now" in text
    assert finish(start(tmp_path / "grid.toml", here, "--jobs", "2"))[0] == 0
    assert lines(there) == lines(here)


def test_a_worker_gives_back_what_it_has_not_begun_after_a_moment(tmp_path, monkeypatch) -> None:
    (tmp_path / "svt.dpg").write_text(PROGRAM)
    (tmp_path / "grid.toml").write_text(SPEC)
    bundle = list(itertools.islice(cases_of(read_spec(tmp_path / "grid.toml")), 5))
    with contextlib.closing(Pool(1)) as pool:
        monkeypatch.setattr(cluster._own, "pool", pool, raising=False)
        monkeypatch.setattr(cluster, "_MOMENT", 3600.0)
        whole = cluster.run_remotely(bundle)
        monkeypatch.setattr(cluster, "_MOMENT", -1.0)
        (first,) = cluster.run_remotely(bundle)
    assert len(whole) == 5
    assert all(outcome.result is not None for outcome in whole)
    assert first.result == whole[0].result


def test_no_cluster_is_a_clear_error(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("dipapprox.experiments.sweep.pool._TO_CONNECT", "1s")
    with pytest.raises(UserError, match="there is no Dask scheduler"):
        next(iter(run_on_cluster(iter(()), "tcp://127.0.0.1:9")))

    for address in ("here", "tcp://here", "tcp://here:port"):
        refuses(UserError, "is no address", next, iter(run_on_cluster(iter(()), address)))


def _address(file: Path) -> str:
    return str(json.loads(file.read_text())["address"])
