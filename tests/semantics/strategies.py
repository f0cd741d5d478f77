"""Random programs, made to be nasty: reassigned reals, repeated and implied tests, crossing
branches, linear combinations, conditions on inputs, named inputs, computed indices, early exits.

A program is well-formed: everything read was assigned on every path, except where it is "faulty".
"""

import re

from hypothesis import strategies as st

from dipapprox.language import core
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from tests.grammars import texts

MOST_RUNS = 8
"""Choices, each made in two rounds of every loop, or about so: for given inputs and samples."""


def programs(kind: str = "plain", integers: bool = False) -> st.SearchStrategy[core.Program]:
    """Programs of up to four reals, or of integers; with comparisons of them alone ("orders"), with
    random choices and loops ("choices"), or which read what has no value on some path ("faulty").
    """

    def read(text: str) -> core.Program:
        if integers:
            text = re.sub(r"[A-Z]\w+(?=\()", "DLap", text).replace("1/2", "1")
        return elaborate(parse(text), {}, "random")

    def is_small(text: str) -> bool:
        return text.count("choose") * 2 ** text.count("while") <= MOST_RUNS

    return texts("programs", 30, kind).filter(is_small).map(read)
