"""python -m dipapprox, and the command `dipapprox`.

Ctrl-C leaves one line and the status 130, even where the process was started with SIGINT ignored:

    modules load        the command runs                      its status is known
    ends at once   ->   KeyboardInterrupt, then ends at once  ->   ignored

Before the command there is nothing to clean up, and an exception in the middle of an import may be
swallowed or printed. Afterwards the answer stands on the terminal, and nothing is left to do.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from importlib import import_module


def main() -> None:
    """Run the command line and exit with its status.

    Most of a short run is loading modules: thousands of objects that stay to its end. numpy's
    threads cost more to start than its small matrices gain; `--jobs` takes processes.
    """
    signal.signal(signal.SIGINT, _end)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import_module("dipapprox.deferred")
    with import_module("dipapprox.limits").rare_collections():
        app = import_module("dipapprox.cli.app")
        try:
            signal.signal(signal.SIGINT, _interrupt)
            status = app.main()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:  # just before the command, or just after
            _end()
    gc.freeze()  # what is left ends with the process: it need not be searched for cycles
    sys.exit(status)


def _interrupt(*_: object) -> None:
    """Interrupt the command, once: what it does then must not be interrupted again."""
    signal.signal(signal.SIGINT, _end)
    raise KeyboardInterrupt


def _end(*_: object) -> None:
    """End the process at once, without unwinding; workers end with it."""
    shown_cursor = "\x1b[?25h" if os.isatty(2) else ""  # a progress bar hides it
    try:
        os.write(2, f"{shown_cursor}interrupted\n".encode())
    finally:
        os._exit(130)


if __name__ == "__main__":
    main()
