"""Odd requests to a sweep: devices for files, full disks, no cases."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from dipapprox.errors import UserError
from dipapprox.experiments.sweep.ledger import Ledger, read_lines
from dipapprox.experiments.sweep.pool import run_locally


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no such device")
def test_devices_are_no_results_files() -> None:
    # Reading /dev/full never ends.
    with pytest.raises(UserError, match="no regular file"):
        Ledger(Path("/dev/full"), "digest", 1)
    with pytest.raises(UserError, match="no regular file"):
        next(read_lines(Path("/dev/full")))


def test_a_case_counts_after_its_line_is_synced_and_many_are_synced_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.jsonl"
    with Ledger(path, "digest", 5) as ledger:
        syncs: list[set[str]] = []
        monkeypatch.setattr(os, "fsync", lambda _: syncs.append(set(ledger.finished)))
        ledger.append([{"case": name} for name in "abc"])
        assert syncs == [set()]
        assert ledger.finished == {"a", "b", "c"}

        def broken(_: int) -> None:
            raise OSError(errno.EIO, "input/output error")

        monkeypatch.setattr(os, "fsync", broken)
        with pytest.raises(UserError, match="cannot write"):
            ledger.append([{"case": "d"}])
        assert ledger.finished == {"a", "b", "c"}


def test_of_the_lines_that_a_full_disk_cuts_the_whole_ones_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with Ledger(path, "digest", 5) as ledger:
        room = path.stat().st_size + 2 * len('{"case": "a"}\n') + 3
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        try:
            with pytest.raises(UserError, match="cannot write"):
                ledger.append([{"case": name} for name in "abc"])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, ignored)
    with Ledger(path, "digest", 5) as ledger:
        assert ledger.finished == {"a", "b"}


def test_no_process_is_started_for_no_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_process(*_: object, **__: object) -> None:
        raise AssertionError("a process for no case")

    monkeypatch.setattr(subprocess, "Popen", no_process)
    assert list(run_locally(iter(()), 10**6)) == []
