"""A worker: runs cases, one at a time, in children of a fork server that it owns."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time

from dipapprox.experiments.sweep.case import Case, Outcome
from dipapprox.experiments.sweep.messages import case_fields, outcome_of

FORK_SERVER = "dipapprox.experiments.sweep.fork_server"

_PATIENCE = 5.0
"""Seconds that a server may take to end."""


class WorkerLost(Exception):
    """The fork server died: killed from outside, or `close` was called."""


class Worker:
    """One fork server. `run` may be called from one thread at a time, `close` from any."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[str] | None = None
        self._closed = False
        self._lock = threading.Lock()  # no server starts once the worker is closed

    def run(self, case: Case) -> Outcome:
        """Run a case; a server that dies is replaced once.

        Raises:
            WorkerLost: If the worker is closed, or the server dies again.
        """
        started = time.monotonic()
        for last in (False, True):
            if self._closed:
                break
            reply = self._ask(json.dumps(case_fields(case)))
            if reply:
                return outcome_of(json.loads(reply))
            if self._server is not None:
                self._server.kill()
                _end(self._server)
            if last:
                break
        spent = time.monotonic() - started
        raise WorkerLost(f"the worker process died twice within {spent:.0f} s")

    def close(self) -> None:
        """End the server, and the case that it runs: both end with their input."""
        with self._lock:
            self._closed = True
            server = self._server
        if server is not None:
            _end(server)

    def _ask(self, request: str) -> str:
        with self._lock:
            if self._closed:
                return ""
            server = self._server
            if server is not None and server.poll() is not None:
                _end(server)
                server = None
            if server is None:
                server = self._server = self._start()
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            server.stdin.write(request + "\n")
            server.stdin.flush()
            return server.stdout.readline()
        except (BrokenPipeError, ValueError):
            return ""

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", FORK_SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for whoever asks
            # One thread each: parallelism is by processes.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )


def _end(server: subprocess.Popen[str]) -> None:
    """End a server with its input; its output is closed last, as a thread may be reading it."""
    assert server.stdin is not None
    assert server.stdout is not None
    with contextlib.suppress(OSError):
        server.stdin.close()
    try:
        server.wait(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    server.stdout.close()
