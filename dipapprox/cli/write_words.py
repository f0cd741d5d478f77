"""python -m dipapprox.cli.write_words: the words of all commands, after a flag has changed."""

from __future__ import annotations

import argparse
import json

from dipapprox.cli.app import build_parser, commands_of
from dipapprox.cli.completion import WORDS

_SAID = ("nargs", "default", "choices", "metavar", "help")


def describe(parser: argparse.ArgumentParser) -> str:
    """Return the words of its commands as `completion.WORDS` has them."""
    words = {
        name: [
            _described(word)
            for word in command._actions
            if not isinstance(word, argparse._HelpAction)  # every parser has its own
        ]
        for name, command in commands_of(parser).items()
    }
    return json.dumps(words, ensure_ascii=False, indent=1) + "\n"


def _described(word: argparse.Action) -> dict[str, object]:
    """Return its names, and what `add_argument` is to be told beside them."""
    described: dict[str, object] = {"names": word.option_strings or [word.dest]}
    if word.nargs == 0:
        described["action"] = "store_true"
    elif isinstance(word, argparse._AppendAction):
        described["action"] = "append"
    return described | {key: getattr(word, key) for key in _SAID if getattr(word, key)}


def main() -> None:
    """Write the words, and say where."""
    WORDS.write_text(describe(build_parser()), encoding="utf-8")
    print(f"wrote {WORDS}")


if __name__ == "__main__":
    main()
