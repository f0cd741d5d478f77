"""What comes with dipapprox: programs and automata by name, and the tables of papers."""

from __future__ import annotations

import tomllib
from pathlib import Path

_PACKAGE = Path(__file__).parent
BUNDLED = _PACKAGE / "programs"
"""The folder of the programs."""

TABLES = _PACKAGE / "experiments" / "tables" / "published"
"""The folder of what the papers print, with the plan of all tables."""


def bundled_programs() -> dict[str, Path]:
    """Return the programs and automata that come with dipapprox, by name: "dipc/svt1"."""
    found = (path for kind in ("dpg", "dipa") for path in BUNDLED.rglob(f"*.{kind}"))
    listed = sorted(found, key=lambda path: (path.parent, path.name))
    return {path.relative_to(BUNDLED).with_suffix("").as_posix(): path for path in listed}


def shown_name(path: Path) -> str:
    """Return what messages call a file: of a program that comes along its place among them."""
    return path.relative_to(BUNDLED).as_posix() if path.is_relative_to(BUNDLED) else str(path)


def table_names() -> list[str]:
    """Return the names of the tables, in their order."""
    plan = tomllib.loads((TABLES / "tables.toml").read_text(encoding="utf-8"))
    return [table["name"] for table in plan["tables"]]
