"""Programs without sense for some eps are refused, whatever becomes of the senseless choice."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dipapprox
from dipapprox import Answer, UserError

HEAD = "input x in 0..1\noutput out in 0..1\nadjacent all\nout <- 0\n"

ONE_WEIGHT = "out <- choose {0 : eps}"
EQUAL_VALUES = "out <- choose {0 : 2 - eps, 0 : eps - 1}"
ONE_END = """
t <- 1
while t = 1 do
  t <- choose {0 : 2 - eps, 1 : eps - 1}
end
"""
AVERAGED = """
t <- 1
while t = 1 do
  a <- choose {0 : 2 - eps, 1 : eps - 1}
  b <- choose {0 : 1/2, 1 : 1/2}
  t <- choose {0 : 1/2, 1 : 1/2}
  out <- a
  if a = b then
    out <- 1
  else
    out <- 0
  end
end
"""


@pytest.mark.parametrize("body", [ONE_WEIGHT, EQUAL_VALUES, ONE_END, AVERAGED])
def test_weights_that_are_none_are_found_wherever_they_are(body: str) -> None:
    """At eps = 3 some weight is negative or 3, though no probability of an output shows it."""
    program = dipapprox.parse(HEAD + body)
    with pytest.raises(UserError, match="no probability distribution"):
        dipapprox.decide(program)
    with pytest.raises(UserError, match="no probability distribution"):
        dipapprox.verify(program, eps=Fraction(3), delta=Fraction(0))
    with pytest.raises(UserError, match="no probability distribution"):
        dipapprox.verify(program, eps=(1, 3), delta=0)


@pytest.mark.parametrize("body", [EQUAL_VALUES, ONE_END, AVERAGED])
def test_where_weights_make_sense_programs_do(body: str) -> None:
    program = dipapprox.parse(HEAD + body)
    verdict = dipapprox.verify(program, eps=Fraction(3, 2), delta=Fraction(0))
    assert verdict.answer is Answer.DP
    assert dipapprox.decide(program, interval=(1, Fraction(3, 2))).answer is Answer.DP


def test_a_loop_with_one_end_must_reach_it() -> None:
    """At eps = 1 this loop goes on for ever; everywhere else it ends."""
    loop = """
t <- 1
while t = 1 do
  t <- choose {0 : (eps - 1)^2 / (1 + (eps - 1)^2), 1 : 1 / (1 + (eps - 1)^2)}
end
"""
    program = dipapprox.parse(HEAD + loop)
    for epsilons in ((0, None), (1, 1), (1, 2)):
        with pytest.raises(UserError, match="does not end with probability 1"):
            dipapprox.decide(program, interval=epsilons)
    with pytest.raises(UserError, match="does not end with probability 1"):
        dipapprox.verify(program, eps=Fraction(1), delta=Fraction(0))
    assert dipapprox.decide(program, interval=(2, None)).answer is Answer.DP
