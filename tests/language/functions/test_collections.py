"""Garbage of others is not collected while a function is followed."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import dipapprox
from dipapprox import Answer
from dipapprox.limits import no_collections

FUNCTION = """
from typing import Annotated
from dipapprox import *

@mechanism(adjacent="linf 1")
def f(q: Annotated[Quantity, "in {0, 1}"]) -> Annotated[int, "in {0, 1}"]:
    waste = [[k] for k in range(200)]
    return 1 if laplace(q, 2) > len(waste) - 200 else 0
"""


def test_nothing_is_collected_while_a_function_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_text(FUNCTION)
    followed: list[str] = []

    def collecting(phase: str, _: object) -> None:
        if phase == "start" and sys.gettrace() is not None:
            followed.append(phase)

    before, tracer = gc.get_threshold(), sys.gettrace()
    assert tracer is None, "a tracer of others hides what this test looks at"
    gc.callbacks.append(collecting)
    gc.set_threshold(1, 1, 1)
    try:
        answer = dipapprox.verify(dipapprox.parse(path), eps=1, delta=0).answer
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collecting)
    assert answer is Answer.DP
    assert not followed


def test_the_setting_comes_back_when_the_last_block_ends() -> None:
    assert gc.isenabled()
    with no_collections():
        with no_collections():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with no_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
