"""python -m dipapprox, and the command `dipapprox`."""

from __future__ import annotations

import sys
from importlib import import_module

from dipapprox.limits import rare_collections


def main() -> None:
    """Run the command line and exit with its status.

    Most of a short run is loading modules: thousands of objects that stay to its end.
    """
    with rare_collections():
        status = import_module("dipapprox.cli.app").main()
    sys.exit(status)


if __name__ == "__main__":
    main()
