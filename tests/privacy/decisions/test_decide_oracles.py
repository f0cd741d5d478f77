"""Decisions against values known from elsewhere, and claims that are hard to decide.

Closed forms, thresholds, least deltas; touching δ, tiny ranges, large denominators, long programs.

Source: the DiPC paper's mechanisms, recomputed by hand and in exact arithmetic ("oracle" numbers
are those of the project's specification of DiPC, section 8).
"""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import dipapprox
from dipapprox import Answer, Decision, Enclosure, Limits, Options
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exact.signs.nonnegative import NegativeRange
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.core import Input
from dipapprox.language.load import load
from dipapprox.language.values import parse_input
from dipapprox.pairs.selections import AllPairs, OrderedPairs, PairSelection
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.decision import Cause
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.question import DecisionQuestion, read_epsilons
from dipapprox.privacy.decisions.signs import merged
from dipapprox.privacy.notation import as_text
from dipapprox.privacy.run import Setting
from dipapprox.semantics.execution import execute
from tests.cases import cases
from tests.texts import text_of

PROGRAMS = Path(__file__).parents[3] / "programs" / "dipc"


def ask(
    name: str,
    *,
    budget: str = "1",
    delta: str = "0",
    interval: str = "0..inf",
    pairs: str = "all",
    violations: bool = False,
    least_delta: bool = False,
    **parameters: int | str,
) -> Decision:
    """Decide about a program of the DiPC paper."""
    program = load(PROGRAMS / f"{name}.dpg", {k: Fraction(v) for k, v in parameters.items()})
    question = DecisionQuestion(
        Fraction(budget),
        read_delta(delta),
        read_epsilons(interval),
        width=Fraction(1, 10**12),
        violations=violations,
        least_delta=least_delta,
    )
    selection: PairSelection = AllPairs()
    if pairs != "all":  # one ordered pair
        first, second = (parse_input(input, program) for input in pairs.split("~"))
        selection = OrderedPairs(((first, second),))
    return decide(Setting(program, selection, Options()), question)


def closed_forms(name: str, input: str, **parameters: int) -> dict[str, str]:
    """The probabilities of one input as text, by output."""
    return {output: as_text(form) for output, form in forms_of(name, input, **parameters).items()}


def forms_of(name: str, input: str, **parameters: int) -> dict[str, ExponentialRatio]:
    """The probabilities of one input, by output."""
    program = load(PROGRAMS / f"{name}.dpg", {k: Fraction(v) for k, v in parameters.items()})
    states = execute(program, True, Limits())
    given: Input = parse_input(input, program)
    forms = ExactDistributions(states, None, Limits()).distribution(given)
    assert isinstance(forms, tuple)
    outputs = (" ".join(map(str, output)) for output in states.outputs)
    return dict(zip(outputs, forms, strict=True))


@cases(
    "name, input, output, formula",
    ("svt1", "0,1", "bot top", "1/2 - 7/16 e^(-ε/4) + 1/6 e^(-ε/2) - 1/48 e^(-3 ε/4)"),
    ("svt1", "1,1", "bot top", "2/3 e^(-ε/4) - 1/16 ε e^(-ε/2) - 11/24 e^(-ε/2)"),
    ("svt4", "-1,0", "bot top", "1/2 - 9/16 e^(-ε/4) + 13/56 e^(-3 ε/4) - 9/112 e^(-ε)"),
    ("svt4", "0,-1", "bot top", "19/112 e^(-3 ε/4) - 9/112 e^(-ε)"),
    ("nmax3", "-1,-1,-1", "-1", "1/8"),
    ("nmax3", "0,0,0", "-1", "1/8 e^(-3 ε/2)"),
)
def test_closed_forms(name, input, output, formula) -> None:
    assert closed_forms(name, input, N=input.count(",") + 1)[output] == formula


def ends_of(decision: Decision) -> list[tuple[Fraction, Fraction | None]]:
    """The ranges that are violated, from inside."""
    return [
        (r.lower.upper, None if r.upper is None else r.upper.lower) for r in decision.violated_on
    ]


def test_sparse_has_the_least_delta_31_240() -> None:
    decision = ask("sparse", budget="1/2", delta="31/240", least_delta=True, N=3, c=1)
    assert decision.answer is Answer.DP
    assert decision.least_delta.exact == Fraction(31, 240)
    assert "∞" in decision.least_delta.where
    assert ask("sparse", budget="1/2", delta="exp(-2)", N=3, c=1).answer is Answer.DP
    below = Fraction(31, 240) - Fraction(1, 10**9)
    violated = ask("sparse", budget="1/2", delta=str(below), N=3, c=1)
    assert violated.answer is Answer.NOT_DP
    assert violated.violation.eps > 60
    bounded = ask("sparse", budget="1/2", delta=str(below), interval="0..60", N=3, c=1)
    assert bounded.answer is Answer.DP


def test_a_delta_that_varies_with_epsilon() -> None:
    # Total variation distance of Lap(0, 1/eps) and Lap(1, 1/eps) beyond 1: 1/2 - e^(-eps)/2.
    exact = ask("hist1", budget="0", delta="1/2 - exp(-eps)/2", N=1)
    assert exact.answer in (Answer.DP, Answer.NOT_DP)
    least = ask("hist1", budget="0", delta="1", interval="2..2", least_delta=True, N=1)
    found = least.least_delta.enclosure
    assert found.width < Fraction(1, 10**6)
    claimed = ask("hist1", budget="0", delta=str(found.upper), interval="2", N=1)
    assert claimed.answer is Answer.DP
    refuted = ask(
        "hist1", budget="0", delta=str(found.lower - Fraction(1, 10**8)), interval="2", N=1
    )
    assert refuted.answer is Answer.NOT_DP


def test_hist2_is_outside_the_class_and_violated_below_1() -> None:
    decision = ask("hist2", N=1)
    assert decision.answer is Answer.NOT_DP
    assert decision.violation.eps < 1
    above = ask("hist2", interval="2..3", N=1)
    assert above.answer is Answer.DP  # proved on the compact interval
    unbounded = ask("hist2", interval="2..inf", N=1)
    assert (unbounded.answer, unbounded.cause) == (Answer.UNKNOWN, Cause.OUTSIDE_FRAGMENT)
    assert "proved for all ε in [2, 4]" in (unbounded.reason or "")


@pytest.mark.parametrize("name", ["nmax2", "rand1"])
def test_tight_claims_of_noisy_max_and_of_randomised_response(name) -> None:
    assert ask(name, N=2).answer is Answer.DP
    for budget in ("99/100", "999999999999/1000000000000"):
        violated = ask(name, budget=budget, violations=True, N=2)
        assert violated.answer is Answer.NOT_DP
        assert ends_of(violated) == [(0, None)]


def test_weights_that_are_near_0_and_1() -> None:
    # (1 + eps) / (1 - eps) > e^eps on the whole of (0, 1).
    rand2 = ask("rand2", interval="0..1", N=1, violations=True)
    (found,) = rand2.violated_on
    assert found.lower.upper == 0
    assert found.upper.upper == 1


def test_a_delta_that_is_exactly_tight_and_transcendental_stays_unknown() -> None:
    # Pr[NMax4 = 0 | -1] = 1 - e^(-eps/2), and 0 for its neighbour: at eps = 2 that is 1 - e^(-1).
    decision = ask("nmax4", delta="1 - exp(-1)", interval="0..2", N=1)
    assert (decision.answer, decision.cause) == (Answer.UNKNOWN, Cause.TIGHT_DELTA)
    assert decision.open
    assert ask("nmax4", delta="1 - exp(-1.0001)", interval="0..2", N=1).answer is Answer.DP
    assert ask("nmax4", delta="1 - exp(-0.9999)", interval="0..2", N=1).answer is Answer.NOT_DP


def test_a_violation_on_a_tiny_range_of_epsilon() -> None:
    # 1 - e^(-eps/2) exceeds its value at 2 - 10^-6 only beyond that point.
    inside = Fraction(2) - Fraction(1, 10**6)
    found = ask("nmax4", delta="1 - exp(-1) - 1e-7", interval="0..2", N=1, violations=True)
    assert found.answer is Answer.NOT_DP
    assert inside < found.violation.eps <= 2


# --- claims that are hard to decide ---

EXACT = "1 - exp(-eps/2)"
"""NMax4 with one query has output 0 with this probability for one input and never for the other.

So it is (t eps, δ)-private exactly if δ(eps) is at least that, whatever t is: any slack can be put
into δ.
"""


def touching(delta: str, budget: str = "1", interval: str = "0..inf") -> Decision:
    return ask("nmax4", delta=delta, budget=budget, interval=interval, violations=True, N=1)


@cases(
    "slack",
    "0",
    "(eps - 1)^2",
    "(eps - 1e-9)^2",
    "(eps - 1e6)^2",
    "(eps - 1)^2 + 1e-40",
    "(eps*exp(eps) - 1)^2",
    "(eps*exp(eps) - 1)^2 + 1e-25",
    "(exp(eps) - 1 - eps)",
    "(eps - 1)^2*(eps*exp(eps) - 1)^4",
)
def test_a_delta_that_touches_is_enough(slack) -> None:
    decision = touching(f"{EXACT} + {slack}")
    assert decision.answer is Answer.DP, decision
    assert ends_of(decision) == []


def test_violated_far_away_and_close_to_zero() -> None:
    far = touching(f"{EXACT} + (1000000 - eps)/1e12", interval="1..2000000")
    assert [lower for lower, _ in ends_of(far)] == [10**6]
    near = touching(f"{EXACT} + eps*(eps - 1e-9)/4", interval="0..1")
    assert near.answer is Answer.NOT_DP
    assert ends_of(near)[0][1] == Fraction(1, 10**9)


@pytest.mark.parametrize("budget", ["997/1000", "123456789/1000000000", "1/7919"])
def test_budgets_with_large_denominators(budget) -> None:
    assert touching(EXACT, budget=budget).answer is Answer.DP
    decision = ask("svt1", budget=budget, N=1)
    # Near 0 the loss of a threshold and a query is at most 1/2 + 1/4 of eps.
    assert decision.answer in (Answer.DP, Answer.NOT_DP)
    if Fraction(budget) >= Fraction(3, 4):
        assert decision.answer is Answer.DP


def test_without_pairs_the_claim_holds() -> None:
    text = text_of("decisions/decide_adversarial-1")
    question = DecisionQuestion(Fraction(0), read_delta("0"), least_delta=True, violations=True)
    decision = decide(Setting(dipapprox.parse(text), AllPairs(), Options()), question)
    assert (decision.answer, decision.pairs) == (Answer.DP, 0)
    assert decision.least_delta.exact == 0


@pytest.mark.usefixtures("work_clock")
def test_limits_are_unknown_with_what_was_looked_at() -> None:
    svt = load(PROGRAMS / "svt1.dpg", {"N": Fraction(6)})
    question = DecisionQuestion(Fraction(1), read_delta("0"))
    hurried = Options(limits=Limits(seconds=0.3, started=0.0))
    decision = decide(Setting(svt, AllPairs(), hurried), question)
    assert (decision.answer, decision.cause) == (Answer.UNKNOWN, Cause.TIME_LIMIT)
    assert "of 116920 pairs looked at" in (decision.reason or "")


@pytest.mark.parametrize("budget", ["0", "1"])
def test_a_bracket_that_cannot_tell_one_gap_says_nothing_of_others(budget) -> None:
    """24 digits of e^-2 lie below it, and above the lower end of its first bracket; 9/10 does not.

    All pairs begin with an input that 0 has the probability of, and go on to one without.
    """
    digits = "0.135335283236612691893999"
    program = dipapprox.parse(
        "input x in 0..2\noutput out in 0..1\nadjacent all\nout <- 1\n"
        f"if x = 0 then out <- choose {{0 : {digits}, 1 : 1 - {digits}}} end\n"
        "if x = 2 then out <- choose {0 : 9/10, 1 : 1/10} end\n"
    )
    one, zero, two = ((Fraction(x),) for x in (1, 0, 2))
    question = DecisionQuestion(Fraction(budget), read_delta("exp(-2)"))
    almost = decide(Setting(program, OrderedPairs(((zero, one),)), Options()), question)
    assert almost.answer is Answer.DP
    for pairs in (((zero, one), (two, one)), ((two, one), (zero, one))):
        decision = decide(Setting(program, OrderedPairs(pairs), Options()), question)
        assert decision.answer is Answer.NOT_DP
        assert decision.violation.input == two


# --- ranges ---


@pytest.mark.parametrize("sensitivity", ["1/1000000", "1/1000000000000"])
def test_where_noise_is_tiny_so_is_the_epsilon_of_the_witness(sensitivity) -> None:
    # SVT4 with sensitivity Δ at ε is SVT4 with 1 at ε/Δ: at ε = 1 both sides are below e^-250000.
    found = ask("svt4", Delta=sensitivity).violation
    assert found.left.lower > found.right.upper > 0
    assert found.eps / Fraction(sensitivity) < 200
    assert found.checked_by is not None


def _range(lower: int, upper: int | None, blur: Fraction = Fraction(0)) -> NegativeRange:
    end = None if upper is None else Enclosure(upper - blur, upper + blur)
    return NegativeRange(Enclosure(lower - blur, lower + blur), end)


def test_the_union_of_ranges() -> None:
    assert merged([]) == ()
    assert merged([_range(3, 4), _range(0, 2), _range(1, 3)]) == (_range(0, 3), _range(3, 4))
    assert merged([_range(1, 5), _range(2, None), _range(0, 1)]) == (_range(0, 1), _range(1, None))
    from_end = replace(_range(1, 3), lower_included=True)
    to_end = replace(_range(2, 4), upper_included=True)
    assert merged([_range(1, 2), from_end, _range(3, 4), to_end]) == (
        NegativeRange(Enclosure.exact(1), Enclosure.exact(4), True, True),
    )
    blur = Fraction(1, 10)
    # These may touch or not.
    assert merged([_range(1, 2, blur), _range(2, 3, blur)]) == (
        _range(1, 2, blur),
        _range(2, 3, blur),
    )
    (joined,) = merged([_range(1, 3, blur), _range(2, 4, blur), _range(1, 2)])
    assert joined == NegativeRange(Enclosure(1 - blur, Fraction(1)), Enclosure(4 - blur, 4 + blur))
