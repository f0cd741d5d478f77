"""python -m dipapprox, and the command `dipapprox`."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from dipapprox.limits import rare_collections


def main() -> None:
    """Run the command line and exit with its status.

    Most of a short run is loading modules: thousands of objects that stay to its end. numpy's
    threads cost more to start than its small matrices gain; `--jobs` takes processes.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with rare_collections():
        status = import_module("dipapprox.cli.app").main()
    sys.exit(status)


if __name__ == "__main__":
    main()
