"""Programs for any number of rounds: known budgets, the same as automata, places of refusals."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import dipapprox
from dipapprox import Answer, Limits, Options, SourceError, StreamProof

PROGRAMS = Path(__file__).parent.parent.parent / "programs"


def for_all(path: str, **parameters: int) -> StreamProof:
    text = (PROGRAMS / f"{path}.dpg").read_text(encoding="utf-8")
    proof = dipapprox.prove(dipapprox.parse(text, parameters, for_all="N"))
    assert isinstance(proof, StreamProof)
    return proof


def of_text(text: str, budget: str | None = None) -> StreamProof:
    proof = dipapprox.prove(dipapprox.parse(text), budget=budget)
    assert isinstance(proof, StreamProof)
    return proof


SPARSE = """
param c = 1
stream q in real
publishes {bot, top}
adjacent linf 1
rT <- Lap(0, 2 / eps)
count <- 0
forever do
    read q
    r <- Lap(q, 4 * c / eps)
    if r >= rT then
        publish top
        count <- count + 1
        if count >= c then exit end
    else
        publish bot
    end
end
"""


RANGE = """
stream q in real
publishes {inside, above, below}
adjacent linf 1
low <- Lap(0, 4 / eps)
high <- Lap(1, 4 / eps)
forever do
    read q
    r <- Lap(q, 4 / eps)
    if r >= low and r < high then
        publish inside
    elif r >= high then
        if r >= low then publish above end
        exit
    else
        publish below
        exit
    end
end
"""
NUMERIC = SPARSE.replace("publish top", "publish Lap(q, 2 / eps)")
LATE = """
stream q in real
publishes {none, first, second, both}
adjacent linf 1
rT <- Lap(0, 2 / eps)
forever do
    read q
    r <- Lap(q, 8 / eps)
    read q
    s <- Lap(q, 8 / eps)
    if r >= rT and s >= rT then publish both; exit end
    if r >= rT then publish first; exit end
    if s >= rT then publish second; exit end
    publish none
end
"""
NAMED = "z <- Lap(0, 2 / eps)\n        publish q + z + 3"


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        (SPARSE, "1", "1"),
        (SPARSE.replace("linf 1", "linf 3/2"), "3/2", "3/2"),
        (SPARSE.replace("Lap(q,", "Lap(2 * q + 5,"), "2", "2"),
        (SPARSE.replace("r >= rT", "r - 1/2 >= rT + 7"), "1", "1"),
        (SPARSE.replace("c = 1", "c = 3"), "1", "1"),
        (SPARSE.replace("Lap(q,", "Lap(0,").replace("r >= rT", "q + r >= rT"), "1", "1"),
        (SPARSE.replace("Lap(q,", "Lap(0,").replace("r >= rT", "2 * q + r > 3 + rT"), "2", "2"),
        (
            SPARSE.replace("r <- Lap(q, 4 * c / eps)", "").replace(
                "r >= rT", "q + Lap(0, 4 * c / eps) >= rT"
            ),
            "1",
            "1",
        ),
        (NUMERIC, "3/2", "3/2"),
        (LATE, "1", "1"),
        (NUMERIC.replace("Lap(q, 2 / eps)", "q + Lap(1, 2 / eps)"), "3/2", "3/2"),
        (NUMERIC.replace("publish Lap(q, 2 / eps)", NAMED), "3/2", "3/2"),
        (RANGE, "1", "1"),
        (SPARSE.replace("linf 1", "increasing 1"), "3/4", "3/4"),
        (SPARSE.replace("linf 1", "decreasing 1"), "1/4", "1/4"),
        (SPARSE.replace("linf 1", "l1 1"), "0", "1"),
        (SPARSE.replace("in real", "in real 0..5"), "0", "1"),
        (SPARSE.replace("rT <- Lap(0, 2 / eps)\n", "").replace("r >= rT", "r >= 0"), "1/2", None),
    ],
)
def test_streams(text: str, lower: str, upper: str | None) -> None:
    proof = of_text(text)
    if upper is None:  # every answer costs: a number bounds all of them
        assert proof.answer is Answer.NOT_DP and proof.has_none
        return
    assert (proof.lower, proof.upper) == (Fraction(lower), Fraction(upper))
    assert of_text(text, upper).answer is Answer.DP
    below = of_text(text, str(Fraction(upper) - Fraction(1, 1000)))
    assert below.answer is (Answer.NOT_DP if proof.is_exact else Answer.UNKNOWN)


@pytest.mark.parametrize(
    ("domain", "noise", "upper"),
    [
        ("real -1/3..1/3", "Lap", "2/3"),
        ("real 0..1/2", "DLap", "0"),
        ("real 1/2..5/2", "DLap", "1"),
    ],
)
def test_inputs_change_by_no_more_than_their_bounds_allow(
    domain: str, noise: str, upper: str
) -> None:
    text = SPARSE.replace("in real", f"in {domain}").replace("Lap", noise)
    proof = of_text(text)
    assert proof.upper == Fraction(upper)
    svt = (PROGRAMS / "svt_laplace.dpg").read_text(encoding="utf-8")
    svt = svt.replace("in {0, 1}\noutput", f"in {domain}\noutput").replace("Lap(", f"{noise}(")
    every = dipapprox.prove(dipapprox.parse(svt, for_all="N"))
    some = dipapprox.prove(dipapprox.parse(svt, {"N": 4}), reals=True)
    assert every.upper == some.upper == Fraction(upper)


def test_integer_inputs_need_an_integer_between_their_bounds() -> None:
    text = SPARSE.replace("in real", "in real 1/3..1/2").replace("Lap", "DLap")
    with pytest.raises(SourceError, match="none lies between the bounds of 'q'"):
        of_text(text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("q, 4 * c / eps", "q, 4", "the scale is no multiple of 1/eps"),
        ("Lap(q", "Gauss(q", "Gaussian noise has no finite pure budget"),
        ("Lap(q", "LapPlus(q", "one-sided noise"),
        ("r >= rT", "r + rT >= 0", "a sum of samples is compared"),
        ("r >= rT", "q >= rT", "an input is compared without noise of its own"),
        ("r >= rT", "q >= 0", "inputs are compared without noise"),
        ("linf 1", "all", "may differ by any amount"),
        ("publish bot", "publish rT", "a sample is published after another one is drawn"),
        ("publish bot", "publish r + rT", "a sample is published after another one is drawn"),
        ("publish bot", "publish none", "none"),
        ("r >= rT", "r + q >= rT and r >= rT", "an input is added to a sample"),
        ("r >= rT", "r >= rT or r >= rT + 1", "different offsets"),
        ("count <- count + 1", "count <- choose { 1: 1/2, 2: 1/2 }", "random choice"),
    ],
)
def test_what_no_theorem_speaks_of_is_refused_with_its_place(
    old: str, new: str, message: str
) -> None:
    with pytest.raises(SourceError) as caught:
        of_text(SPARSE.replace(old, new))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("q[i]", "q[i + 1]", None),
        ("r <- Lap(q[i]", "s <- Lap(q[i + 1], 1 / eps)\n    r <- Lap(q[i]", "a round may use"),
        ("if r >=", "if i = 2 then skip end\n    if r >=", "a round knows its number 'i'"),
        ("4 * Delta / eps", "4 * N / eps", "depends on 'N', which is any number"),
        ("    end\nend\n", "    end\nend\nout[1] <- 0\n", "something follows the loop"),
    ],
)
def test_loops_that_are_no_rounds(old: str, new: str, message: str | None) -> None:
    text = (PROGRAMS / "svt_laplace.dpg").read_text(encoding="utf-8").replace(old, new)
    if message is None:
        proof = dipapprox.prove(dipapprox.parse(text, for_all="N"))
        assert proof.upper == 1
        return
    with pytest.raises(SourceError) as caught:
        dipapprox.parse(text, for_all="N")
    assert message in str(caught.value)


INITIAL = """
param N = 3
input q[N] in {0, 1}
output out[N] in {0, 1}
adjacent linf 1
for i in 1..N do out[i] <- 0 end
rT <- Lap(0, 2 / eps)
for i in 1..N do
    r <- Lap(q[i], 4 / eps)
    if r >= rT then out[i] <- 1; exit end
end
"""


def test_a_loop_that_writes_some_entries_only_does_not_give_all_a_first_value() -> None:
    assert dipapprox.prove(dipapprox.parse(INITIAL, for_all="N")).upper == 1
    for old, new in [
        ("for i in 1..N do out", "for i in 2..N do out"),
        ("for i in 1..N do out", "for i in 1..N - 1 do out"),
        ("out[N] in", "out[2 * N] in"),
        ("for i in 1..N do out", "out[1] <- 1\nfor i in 1..N do out"),
    ]:
        with pytest.raises(SourceError, match="something follows the loop over rounds"):
            dipapprox.parse(INITIAL.replace(old, new), for_all="N")


def test_a_limit_ends_in_unknown() -> None:
    endless = SPARSE.replace("if count >= c then exit end", "skip").replace("c = 1", "c = 2")
    endless = endless.replace("r >= rT", "r >= rT and count < 5000000")
    options = Options(limits=Limits(states=50))
    proof = dipapprox.prove(dipapprox.parse(endless), options=options)
    assert proof.answer is Answer.UNKNOWN and "50" in str(proof.reason)
