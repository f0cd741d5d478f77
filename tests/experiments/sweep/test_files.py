"""Odd requests to a sweep: devices for files, more workers than cases."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from dipapprox.errors import UserError
from dipapprox.experiments.sweep.ledger import Ledger, read_records
from dipapprox.experiments.sweep.local import run_locally


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no such device")
def test_devices_are_no_results_files() -> None:
    # Reading /dev/full never ends.
    with pytest.raises(UserError, match="no regular file"):
        Ledger(Path("/dev/full"), "digest", 1)
    with pytest.raises(UserError, match="no regular file"):
        next(read_records(Path("/dev/full")))


def test_a_line_without_its_parts_is_named(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text('{"sweep": 1}\n{"case": "x"}\n')
    with pytest.raises(UserError, match="2: not a line of results"):
        list(read_records(path))


def test_there_are_no_more_workers_than_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(*_: object, **__: object) -> None:
        raise AssertionError("a worker for no case")

    monkeypatch.setattr(threading, "Thread", no_thread)
    assert list(run_locally(iter(()), 10**6)) == []
