"""python -m dipapprox.cli.write_words: the words of all commands, after a flag has changed."""

from __future__ import annotations

import argparse
import json

from dipapprox.cli.app import build_parser
from dipapprox.cli.command import commands_of
from dipapprox.cli.described import WORDS

_SAID = ("nargs", "default", "choices", "metavar", "help")


def describe(parser: argparse.ArgumentParser) -> str:
    """Return the words of its commands as `described.WORDS` has them."""
    words = {
        name: {
            "description": command.description,
            "epilog": command.epilog,
            "words": [
                _described(word, _group_of(word, command))
                for word in command._actions
                if not isinstance(word, argparse._HelpAction)  # every parser has its own
            ],
        }
        for name, command in commands_of(parser).items()
    }
    return json.dumps(words, ensure_ascii=False, indent=1) + "\n"


def _group_of(word: argparse.Action, command: argparse.ArgumentParser) -> str:
    """Return the heading above a word that has one of its own."""
    first = ("positional arguments", "options")
    titles = (group.title for group in command._action_groups if word in group._group_actions)
    return next((title for title in titles if title and title not in first), "")


def _described(word: argparse.Action, group: str) -> dict[str, object]:
    """Return its names, and what `add_argument` is to be told beside them."""
    described: dict[str, object] = {"names": word.option_strings or [word.dest]}
    if group:
        described["group"] = group
    if word.required and word.option_strings:
        described["required"] = True
    if word.nargs == 0:
        described["action"] = "store_true"
    elif isinstance(word, argparse._AppendAction):
        described["action"] = "append"
    return described | {key: getattr(word, key) for key in _SAID if getattr(word, key)}


def main() -> None:
    WORDS.write_text(describe(build_parser()), encoding="utf-8")
    print(f"wrote {WORDS}")


if __name__ == "__main__":
    main()
