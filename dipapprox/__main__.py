"""python -m dipapprox, and the command `dipapprox`."""

from __future__ import annotations

import sys

from dipapprox.cli import app


def main() -> None:
    """Run the command line and exit with its status."""
    sys.exit(app.main())


if __name__ == "__main__":
    main()
