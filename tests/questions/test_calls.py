"""Wrong calls of public functions say how they are called."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import dipapprox
from dipapprox import UserError

PROGRAM = dipapprox.parse("input q in {0, 1}\noutput o in {0, 1}\nadjacent linf 1\no <- 0")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda f: f.profile(PROGRAM, 1, Fraction(1, 10**5)), "takes '1' and '1/100000' by name"),
        (lambda f: f.verify("f.dpg", object()), "verify takes '<object"),
        (lambda f: f.verify(PROGRAM, eps=1), "verify needs delta"),
        (lambda f: f.verify(PROGRAM, eps=1, delta=0, epsprv=1), "no argument 'epsprv'"),
        (lambda f: f.verify(), "verify needs program and eps and delta"),
        (lambda f: f.verify(PROGRAM, program=PROGRAM, eps=1, delta=0), "'program' twice"),
        (lambda f: f.prove(PROGRAM, 2), "prove takes '2' by name only"),
        (lambda f: f.decide(PROGRAM, 2), "decide takes '2' by name only"),
        (lambda f: f.compose(), "compose needs runs"),
        (lambda f: f.parse(), "parse needs text"),
        (lambda f: f.calibrate(PROGRAM, eps_prv=1), "calibrate needs delta"),
        (lambda f: f.pair_distributions(PROGRAM, eps=1), "needs input and adjacent"),
    ],
)
def test_a_wrong_call_is_a_user_error_with_a_right_call(
    call: Callable[[Any], object], says: str
) -> None:
    with pytest.raises(UserError, match=says) as caught:
        call(dipapprox)
    assert "for example" in caught.value.render() or "did you mean" in caught.value.render()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda f: f.parse("svt.dpg"), r'parse\(Path\("svt.dpg"\)\) reads it'),
        (lambda f: f.parse("a/b.py:svt"), r'parse\(Path\("a/b.py:svt"\)\) reads it'),
        (lambda f: f.verify("svt.dpg", eps=1, delta=0), r'parse\(Path\("svt.dpg"\)\) reads it'),
        (lambda f: f.verify(PROGRAM, eps=1, delta=0, pairs="sngle"), "did you mean 'single'"),
        (lambda f: f.check(5), r"got int\nhint: check\(path.read_text\(\)\)"),
    ],
)
def test_names_of_files_are_no_programs(call: Callable[[Any], object], says: str) -> None:
    with pytest.raises(UserError) as caught:
        call(dipapprox)
    assert re.search(says, caught.value.render())
