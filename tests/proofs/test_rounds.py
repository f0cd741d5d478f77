"""Programs for any number of rounds: known budgets, the same as automata, places of refusals."""

from fractions import Fraction

import pytest

import dipapprox
from dipapprox import Answer, Limits, Options, SourceError, StreamProof
from tests.golden_text import check_answers, complaint
from tests.texts import text_of


def for_all(path: str, **parameters: int) -> StreamProof:
    text = text_of(path)
    proof = dipapprox.prove(dipapprox.parse(text, parameters, for_all="N"))
    assert isinstance(proof, StreamProof)
    return proof


def of_text(text: str, budget: str | None = None) -> StreamProof:
    proof = dipapprox.prove(dipapprox.parse(text), budget=budget)
    assert isinstance(proof, StreamProof)
    return proof


SPARSE = text_of("proofs/rounds-1")


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
    svt = text_of("svt_laplace")
    svt = svt.replace("in {0, 1}\noutput", f"in {domain}\noutput").replace("Lap(", f"{noise}(")
    every = dipapprox.prove(dipapprox.parse(svt, for_all="N"))
    some = dipapprox.prove(dipapprox.parse(svt, {"N": 4}), reals=True)
    assert every.upper == some.upper == Fraction(upper)


def test_integer_inputs_need_an_integer_between_their_bounds() -> None:
    text = SPARSE.replace("in real", "in real 1/3..1/2").replace("Lap", "DLap")
    with pytest.raises(SourceError, match="none lies between the bounds of 'q'"):
        of_text(text)


def changed(text: str, change: str) -> str:
    """Put the lines below `=>` in the place of those above it."""
    old, new = change.split("\n=>\n")
    assert old in text
    return text.replace(old, new)


def test_what_no_theorem_speaks_of_is_refused_with_its_place() -> None:
    """Changes of the sparse vector above, and of the shipped one for all N."""
    shipped = text_of("svt_laplace")
    check_answers("refused_streams", complaint(lambda change: of_text(changed(SPARSE, change))))
    check_answers(
        "refused_rounds",
        complaint(lambda change: dipapprox.parse(changed(shipped, change), for_all="N")),
    )
    ahead = dipapprox.parse(changed(shipped, "q[i]\n=>\nq[i + 1]"), for_all="N")
    assert dipapprox.prove(ahead).upper == 1


INITIAL = text_of("proofs/rounds-9")


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
