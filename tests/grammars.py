"""Random texts by grammars: tests/templates/grammars/<name>.txt.

    == sign + -     what may stand for a symbol: words,
    == list         or one in each line,
    range(2)
    [1, 2]
    === loop        or in several lines, divided by bars
    for i in {list}:
        {block}
    |
    pass

`{list}` stands for one of what is below `list`, all lines of which are indented as it is; `{#}` for
a number that no other piece of text has.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import count

from hypothesis import strategies as st

from tests.cases import template_of

_SECTION = re.compile(r"^(===?) (\w+)(?: (.*))?\n((?:(?!===? \w).*\n)*)", re.MULTILINE)


@cache
def _rules(name: str) -> tuple[dict[str, list[str]], re.Pattern[str]]:
    """What may stand for each symbol of a grammar, and how symbols are written."""
    rules = {
        symbol: words.split() or body[:-1].split("\n" if marks == "==" else "\n|\n")
        for marks, symbol, words, body in _SECTION.findall(template_of(f"grammars/{name}"))
    }
    return rules, re.compile(rf"\{{({'|'.join(rules)}|#)\}}")


@cache
def _short(name: str) -> Mapping[str, list[str]]:
    """What stands for each symbol that ends soonest."""
    rules, symbols = _rules(name)
    heights = {"#": 0}
    while len(heights) <= len(rules):
        known = {
            symbol: [text for text in texts if {*symbols.findall(text)} <= heights.keys()]
            for symbol, texts in rules.items()
            if symbol not in heights
        }
        assert any(known.values()), "every symbol stands for some text"
        heights |= {symbol: len(heights) for symbol, texts in known.items() if texts}
    return {
        symbol: [
            text
            for text in texts
            if all(heights[inner] < heights[symbol] for inner in symbols.findall(text))
        ]
        for symbol, texts in rules.items()
    }


def write(name: str, most: int, start: str, choose: Callable[[Sequence[str]], str]) -> str:
    """Write a text that stands for a symbol; after `most` symbols within symbols it soon ends."""
    (rules, symbols), left, numbers = _rules(name), most, count()

    def written(symbol: str) -> str:
        nonlocal left
        text = choose((rules if left > 0 else _short(name))[symbol])
        number = str(next(numbers))
        left -= bool(symbols.search(text))

        def put(found: re.Match[str]) -> str:
            if found[1] == "#":
                return number
            indent = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
            return written(found[1]).replace("\n", "\n" + indent * indent.isspace())

        return symbols.sub(put, text)

    return written(start)


@st.composite
def texts(draw: st.DrawFn, name: str, most: int, start: str = "start") -> str:
    """Texts that stand for a symbol of a grammar."""
    return write(name, most, start, lambda some: draw(st.sampled_from(some)))
