"""The words of commands as data: for `--help` and for shells, without loading what they need.

`make completion` writes them when a flag has changed.
"""

from __future__ import annotations

import argparse
import json
from functools import cache
from pathlib import Path
from typing import Any

from dipapprox.errors import BrokenInvariant

WORDS = Path(__file__).parent / "words.json"
"""For each command its description, its epilog, and what `argparse` is told of its words."""


@cache
def _words() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(WORDS.read_text(encoding="utf-8"))
    return found


def _described(name: str) -> dict[str, Any]:
    if name not in _words():
        raise BrokenInvariant(f"words.json has no command '{name}': make completion writes it")
    described: dict[str, Any] = _words()[name]
    return described


def commands_with(flag: str) -> list[str]:
    commands = _words().items()
    return [name for name, each in commands if any(flag in w["names"] for w in each["words"])]


def add_described(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the words of a command to its parser, which only shows them."""
    described = _described(name)
    parser.description, parser.epilog = described["description"], described["epilog"]
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for word in described["words"]:
        said = {key: value for key, value in word.items() if key not in ("names", "group")}
        title = word.get("group", "")
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        groups[title].add_argument(*word["names"], **said)
