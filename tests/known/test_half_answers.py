"""What was half answered, and is no line of half_answers.txt: many questions of a form, limits."""

from fractions import Fraction
from itertools import count
from random import Random

import pytest

import dipapprox
from dipapprox import LimitReached, Limits, Options
from dipapprox.pairs.published.divergences import PublishedDivergences
from dipapprox.privacy.profiles.curve import _enough
from tests.cases import part, text_of
from tests.random_questions import real_inputs
from tests.random_questions.__main__ import judge


@pytest.mark.parametrize("seed", part(range(40), 8))
def test_forty_questions_about_thresholds_of_two_real_inputs(seed, monkeypatch) -> None:
    """Of each for itself, or of their difference and one: 13 had no answer in 30 seconds."""
    for table, names in (("ROWS", ("independent parts", "difference")), ("LAWS", ("Lap", "Gauss"))):
        known = getattr(real_inputs, table)
        monkeypatch.setattr(real_inputs, table, {each: known[each] for each in names})
    word, said, _ = judge(real_inputs.draw(Random(seed)), seconds=30)
    assert word == "whole", said


@pytest.mark.parametrize("delta", part(["1/20", "1/5", "1/10", "1/50"], 4))
def test_one_number_is_a_lower_bound_of_a_joint_density(delta) -> None:
    """Two sums share a sample: together they need what the first one needs, at least."""
    both = text_of("published/half_answers-shared")
    alone = both.replace("output y, z", "output y").replace("z <- b + c\n", "")
    known = dipapprox.profile(dipapprox.parse(alone), eps=1, delta=delta).eps_prv_enclosure
    found = dipapprox.profile(dipapprox.parse(both), eps=1, delta=delta).eps_prv_enclosure
    assert known.lower is not None and found.lower is not None and found.upper is not None
    assert known.lower - 0.001 < found.lower <= found.upper <= 1


@pytest.fixture
def three_calls(monkeypatch) -> None:
    """A limit is reached after so many sets of numbers."""
    asked, calls = PublishedDivergences.excess, count()

    def limited(self, *args):
        if next(calls) > 3:
            raise LimitReached("time limit: 1 s")
        return asked(self, *args)

    monkeypatch.setattr(PublishedDivergences, "excess", limited)


MIXED = """input q in 0..1
output y in real
k <- choose { 0 : 1/3, 1 : 2/3 }
if k = 1 then y <- Gauss(2 * q, 1 / eps) else y <- Logistic(q, 1 / eps) end
"""


def test_profile_keeps_what_is_demanded_before_a_limit(three_calls) -> None:
    found = dipapprox.profile(dipapprox.parse(MIXED), eps=1, delta="1e-6").eps_prv_enclosure
    assert found.lower is not None and 1 < found.lower < 2.4237961


def test_calibrate_keeps_what_is_refuted_before_a_limit(three_calls) -> None:
    found = dipapprox.calibrate(dipapprox.parse(MIXED), eps_prv="1/2", delta="1e-6")
    assert found.refuted is not None and "time limit" in str(found.reason)


COMPARED = """input q[2] in real 0..10
output out in {0, 1}
adjacent linf 1/2
x <- Logistic(q[1], 3/4 / eps)
y <- Lap(q[2], 1 / eps)
out <- x > y
"""


@pytest.mark.parametrize(("seconds", "most"), part([(1, 1), (8, 0.7602)], 2))
def test_upper_ends_over_real_inputs_come_before_the_time_is_gone(
    seconds, most, work_clock
) -> None:
    """Among many pairs, in doubles, some need 0.7594; all have a budget of 1."""
    options = Options(limits=Limits(seconds=seconds, started=0))
    found = dipapprox.profile(dipapprox.parse(COMPARED), eps=1, delta="1/100", options=options)
    ends = found.eps_prv_enclosure
    assert ends.lower is not None and ends.upper is not None
    assert 0.75 < ends.lower <= ends.upper <= most


def test_inputs_without_bounds_that_are_compared_lose_most_on_a_ray() -> None:
    """Only their difference counts: the noise of scale 5 alone pays, e^(eps / 5) far away."""
    program = dipapprox.parse(text_of("checking/real_certificates-6"))
    found = dipapprox.profile(program, eps=4, delta=0)
    assert found.reason is None
    low, high = found.eps_prv_enclosure.lower, found.eps_prv_enclosure.upper
    assert Fraction(4, 5) - Fraction(1, 10**8) < low <= high == Fraction(4, 5)
    proved = dipapprox.Options(proved=True)
    for eps_prv, answer in ((Fraction(4, 5), "DP"), (Fraction(7999, 10000), "Not_DP")):
        verdict = dipapprox.verify(program, eps=4, eps_prv=eps_prv, delta=0, options=proved)
        assert verdict.answer.value == answer and verdict.replayed is not None
    both = dipapprox.calibrate(program, eps_prv="1/2", delta=0)
    assert both.certified.eps <= Fraction(5, 2) < both.refuted.eps
    assert both.refuted.eps - both.certified.eps <= both.width * both.refuted.eps


def test_what_is_not_decided_is_left_on_both_sides() -> None:
    """The profile is known within a tenth: there are ends on both sides, by a few questions."""
    program = dipapprox.parse(text_of("privacy/real_inputs-17"))
    found = dipapprox.calibrate(program, eps_prv=1, delta="1/100", width="1/100")
    assert found.certified.eps > Fraction(5, 2) and found.refuted.eps < 6 and found.reason
    assert found.queries < 25


@pytest.mark.parametrize("seed", range(20))
def test_where_chords_of_the_largest_delta_are_enough_it_is(seed) -> None:
    """It is the largest of lines, and known from above at some factors."""
    random = Random(seed)
    lines = [(Fraction(p, 9), Fraction(p, 9 * n)) for p, n in ((9, 3), (8, 5), (5, 30))]

    def largest(x: Fraction) -> Fraction:
        return max(Fraction(0), *(p - x * q for p, q in lines))

    places = [Fraction(1), *(Fraction(random.randint(100, 2000), 100) for _ in range(4))]
    told = [(x, largest(x) + Fraction(random.randint(0, 3), 100)) for x in (*places, Fraction(25))]
    alone, found = _enough(told, Fraction(1, 5)), _enough(told, Fraction(1, 5), chords=True)
    assert found is not None and alone is not None
    assert largest(found) <= Fraction(1, 5) and found < alone
