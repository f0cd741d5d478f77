"""All real inputs and every ε of an interval, and pairs that an optimiser finds by itself."""

from fractions import Fraction
from math import erf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import Answer, UserError, parse, profile, verify
from tests.thorough import examples

_ABOVE = """
input q[2] in real {domain}
output o in {{0, 1}}
adjacent {adjacency}
t <- Gauss(0, 2 / eps)
o <- 0
for i in 1..2 do
    x <- Gauss(q[i], 4 / eps)
    if x >= t then o <- 1; exit end
end
"""


def _text(domain: str = "0..1", adjacency: str = "linf 1") -> str:
    return _ABOVE.format(domain=domain, adjacency=adjacency)


@examples(2)
@given(st.sampled_from(["linf 1", "l0 1", "all"]), st.fractions(0, "1/4", max_denominator=20))
def test_the_largest_delta_does_not_fall(adjacency: str, eps_prv: Fraction) -> None:
    program = parse(_text("-1..1", adjacency))
    found = [profile(program, eps=eps, eps_prv=eps_prv).delta_enclosure for eps in ("1/4", "1/2")]
    assert found[0].lower <= found[1].upper


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_text("1/2..1"), "ties"),
        (_text().replace("(0, 2 / eps)", "(3/2, 2 / eps)"), "ties"),
        (_text().replace("x >= t", "x >= t + i / 8").replace("q[i]", "q[1]"), "ties"),
        (_text().replace("input", "input b in 0..1\ninput", 1), "finite inputs"),
        (_text().replace("2 / eps", "2"), "power"),
    ],
)
def test_what_the_lemma_does_not_cover_is_unknown(text: str, reason: str) -> None:
    program = parse(text)
    found = verify(program, eps=("1/4", "1/2"), eps_prv=1, delta="1e-5")
    assert found.answer is Answer.UNKNOWN
    assert reason in found.run.reason
    assert found.remaining == ((Fraction(1, 4), Fraction(1, 2)),)
    refuted = verify(program, eps=("1/4", "1/2"), eps_prv=0, delta="1e-5")
    assert refuted.answer is Answer.NOT_DP


@pytest.mark.parametrize("domain", ["1..2", "-2..-1", ""])
def test_where_shifts_are_all_that_matters_ranges_do_not(domain: str) -> None:
    """The Gaussian mechanism at ε: 2 Φ(ε / 2) - 1 < δ for ε_prv = 0, so for every ε_prv."""
    text = f"input x in real {domain}\noutput y in real\nadjacent linf 1\ny <- Gauss(x, 1/eps)\n"
    top = Fraction(repr(erf(2**-2.5)))
    for more, answer in (("1e-6", Answer.DP), ("-1e-6", Answer.NOT_DP)):
        delta = top + Fraction(more)
        found = verify(parse(text), eps=("1/4", "1/2"), eps_prv=0, delta=delta)
        assert found.answer is answer


@pytest.mark.parametrize(("more", "holds"), [("1e-2", True), ("-1e-3", False)])
def test_a_budget_that_touches_0_is_bounded_from_below_by_less(more: str, holds: bool) -> None:
    """On [1/4, 1/2] arithmetic with balls bounds 16 (ε - 3/8)² by -1/4: at 3/8 it is 0."""
    text = "input x in real 0..1\noutput y in real\nadjacent linf 1\ny <- Gauss(x, 1/eps)\n"
    top = Fraction(repr(erf(3 / 8 / 2**1.5)))
    found = verify(
        parse(text), eps=("1/4", "1/2"), eps_prv="16*(eps - 3/8)^2", delta=top + Fraction(more)
    )
    assert (found.answer is Answer.DP) is holds
    if holds:
        assert found.delta_enclosure.upper >= top


def test_numbers_with_one_label_move_as_one() -> None:
    """Two numbers around 0 and 1 for one answer: what tells them apart grows with their noise."""
    text = (
        "input q in real 0..1\noutput y in real\nadjacent linf 1\nx <- Gauss(q, 1/eps)\n"
        "t <- Gauss(q, 1/eps)\nif t >= 1/2 then y <- x + 1 else y <- x end\n"
    )
    found = verify(parse(text), eps=("1/4", "1/2"), eps_prv=3, delta="1/2")
    assert found.answer is Answer.UNKNOWN
    assert found.run.reason is not None


def test_listed_pairs_are_finite() -> None:
    pairs = [((Fraction(0), Fraction(1)), (Fraction(1), Fraction(1, 3)))]
    found = verify(parse(_text()), eps=("1/4", "1/2"), eps_prv="eps", delta="1e-5", pairs=pairs)
    assert found.answer is Answer.DP
    assert found.pairs == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [("o <- q[1]", "a finite output is an input"), ("x <- DGauss(q[1], 1)", "noise of integers")],
)
def test_where_the_value_of_an_input_is_needed(line: str, message: str) -> None:
    text = f"input q[2] in real 0..1\noutput o in {{0, 1}}\nadjacent linf 1\n{line}\n"
    text += "o <- 0\nif x >= 0 then o <- 1 end\n" if "x" in line else ""
    with pytest.raises(UserError) as error:
        verify(parse(text), eps=1, eps_prv=1, delta="1e-5")
    assert message in str(error.value)
    assert ":4:" in str(error.value)
