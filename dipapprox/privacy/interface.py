"""The Python interface: what the commands do, as functions with defaults.

    program = dipapprox.parse(text)
    verdict = dipapprox.verify(program, Claim(epsilon=Fraction(1, 2), delta=Fraction(1, 100)))
    print(verdict.answer, verdict.to_json())

Numbers are exact: int and Fraction. A float is refused, because 0.1 is not 1/10.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dipapprox.language.core import Program
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DPG
from dipapprox.language.parser import parse as parse_text
from dipapprox.language.values import exact_rational
from dipapprox.language.widening import Wider, widening_of
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.privacy import certificate, verifier
from dipapprox.privacy.certificate import Certificate, ProgramText
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.decisions import decider
from dipapprox.privacy.decisions.certificate import certify_decision
from dipapprox.privacy.decisions.decision import Decision
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.epsilons import closed_interval
from dipapprox.privacy.decisions.question import DEFAULT_WIDTH as DECISION_WIDTH
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.given import Number, Row, given_formula, given_pairs, given_row
from dipapprox.privacy.intervals import verifier as interval_verifier
from dipapprox.privacy.intervals.formula_claim import read_formula_claim
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.options import Options
from dipapprox.privacy.probabilities import OutputDistribution, output_distribution
from dipapprox.privacy.profiles import calibration, loss
from dipapprox.privacy.profiles import profile as profiling
from dipapprox.privacy.profiles.calibration import DEFAULT_WIDTH
from dipapprox.privacy.profiles.calibration_result import Calibration
from dipapprox.privacy.profiles.loss import PairDistributions
from dipapprox.privacy.profiles.profile_result import ProfileAnswer
from dipapprox.privacy.profiles.question import Question
from dipapprox.privacy.verdict import Verdict


def parse(
    text: str,
    parameters: Mapping[str, Number] | None = None,
    name: str = "program",
    *,
    widen: Wider | Mapping[str, Wider] | None = None,
) -> Program:
    """Read a program from text, with some of its parameters set.

    Args:
        widen: A wider domain than the program declares, for all inputs with numbers or by name:
            "-5..5", "{0, 1/2, 1}", range(-5, 6), {"q": "-5..5"}. The adjacency stays.

    Raises:
        SourceError: If the program is wrong; its `diagnostics` say where.
        UserError: If a parameter does not exist, or `widen` does not suit the inputs.
    """
    exact = {key: exact_rational(value, key) for key, value in (parameters or {}).items()}
    return elaborate(parse_text(text), exact, name, widening_of(widen))


def verify(
    program: Program,
    claim: Claim,
    pairs: Iterable[tuple[Row, Row]] | None = None,
    options: Options | None = None,
) -> Verdict:
    """Decide a claim.

    Args:
        program: From `parse`.
        claim: What is claimed.
        pairs: The ordered pairs of inputs to check; by default all that the program calls
            adjacent.
        options: How to compute; their limits' clock runs since they were made.

    Raises:
        UserError: If an input is not in the domains, or the adjacency does not suit them.
    """
    for what, value in (("eps", claim.epsilon), ("eps_prv", claim.budget), ("delta", claim.delta)):
        exact_rational(value, what)
    selection = given_pairs(program, pairs)
    return verifier.verify(program, claim, selection, options or Options())


def verify_interval(
    program: Program,
    epsilons: tuple[Number, Number],
    delta: Number | str,
    epsilon_prv: Number | str | None = None,
    pairs: Iterable[tuple[Row, Row]] | None = None,
    options: Options | None = None,
) -> IntervalVerdict:
    """Decide a claim for every epsilon between two numbers, both included.

    Args:
        epsilons: The least, > 0, and the greatest.
        delta: A number, or a formula in eps such as "eps^2/100".
        epsilon_prv: A number, or a formula in eps and delta; None for eps itself.

    Raises:
        UserError: If the interval is empty, the formulas make no claim somewhere in it, an input
            is not in the domains, or the adjacency does not suit them.
    """
    lower, upper = (exact_rational(end, "eps") for end in epsilons)
    claim = read_formula_claim(
        None if epsilon_prv is None else given_formula(epsilon_prv, "eps_prv"),
        given_formula(delta, "delta"),
    )
    selection = given_pairs(program, pairs)
    return interval_verifier.verify_interval(
        program, claim, lower, upper, selection, options or Options()
    )


def decide(
    program: Program,
    budget: Number = 1,
    delta: Number | str = 0,
    epsilons: tuple[Number, Number | None] = (0, None),
    pairs: Iterable[tuple[Row, Row]] | None = None,
    options: Options | None = None,
    *,
    width: Number = DECISION_WIDTH,
    violations: bool = False,
    least_delta: bool = False,
) -> Decision:
    """Decide (budget * eps, delta)-privacy for every eps > 0 of an interval, by default for all.

    Args:
        budget: >= 0.
        delta: A number, or a formula: "exp(-2)", "eps/100".
        epsilons: The ends, both included unless 0 or None, which is infinity.
        width: Of the ends of violated ranges and of the least delta, > 0.
        violations: Whether to find every eps at which some pair violates the claim.
        least_delta: Whether to enclose the least delta that holds for every eps.

    Raises:
        UserError: If a number or an input is out of range, the adjacency does not suit the
            inputs, or the program or delta makes no sense for some eps.
    """
    lower, upper = epsilons
    question = DecisionQuestion(
        budget=exact_rational(budget, "budget"),
        delta=read_delta(given_formula(delta, "delta")),
        epsilons=closed_interval(
            exact_rational(lower, "eps"), None if upper is None else exact_rational(upper, "eps")
        ),
        width=exact_rational(width, "width"),
        violations=violations,
        least_delta=least_delta,
    )
    selection = given_pairs(program, pairs)
    return decider.decide(program, question, selection, options or Options())


def probabilities(
    program: Program,
    epsilon: Number,
    row: Row = (),
    options: Options | None = None,
    relative_width: Number | None = None,
) -> OutputDistribution:
    """Enclose the probability of every output for one input; what is wider has a `reason`.

    Args:
        program: Elaborated.
        epsilon: The program's privacy parameter.
        row: One value per input cell.
        options: `precision` is absolute: enclosures at most 2**-precision wide.
        relative_width: Refine until each is at most this share of its probability wide, too.

    Raises:
        UserError: If `epsilon` <= 0, the input is not in the domains, or the relative width is not
            in (0, 1).
    """
    exact = exact_rational(epsilon, "eps")
    share = None if relative_width is None else exact_rational(relative_width, "the relative width")
    return output_distribution(program, exact, given_row(program, row), options or Options(), share)


def profile(
    program: Program,
    epsilon: Number,
    question: Question,
    pairs: Iterable[tuple[Row, Row]] | None = None,
    options: Options | None = None,
) -> ProfileAnswer:
    """Find the tightest guarantee at one epsilon.

        profile(program, 1, AtBudget(Fraction(1, 2)))     least delta
        profile(program, 1, AtDelta(Fraction(1, 100)))    least eps_prv; 0 asks for pure privacy
        profile(program, 1, OnCurve(0, 1, 200))           delta for every eps_prv in [0, 1]
        profile(program, 1, AtOrders((1, 2, "inf")))      Rényi divergences

    Raises:
        UserError: If `epsilon` <= 0, an input is not in the domains, or the adjacency does not
            suit them.
        LimitReached: If a limit of `options` is reached.
    """
    exact, selection = exact_rational(epsilon, "eps"), given_pairs(program, pairs)
    return profiling.profile(program, exact, question, selection, options or Options())


def calibrate(
    program: Program,
    epsilon_prv: Number,
    delta: Number,
    pairs: Iterable[tuple[Row, Row]] | None = None,
    options: Options | None = None,
    width: Number = DEFAULT_WIDTH,
) -> Calibration:
    """Find a program epsilon at which (epsilon_prv, delta) is certified, and a slightly larger one
    at which it is refuted.

    Args:
        width: Wanted distance of the two, relative to the larger one, in (0, 1).

    Raises:
        UserError: If a number or an input is out of range, or the adjacency does not suit them.
        LimitReached: If a limit of `options` is reached.
    """
    return calibration.calibrate(
        program,
        exact_rational(epsilon_prv, "eps_prv"),
        exact_rational(delta, "delta"),
        given_pairs(program, pairs),
        options or Options(),
        exact_rational(width, "width"),
    )


def pair_distributions(
    program: Program,
    epsilon: Number,
    row: Row,
    adjacent: Row,
    options: Options | None = None,
) -> PairDistributions | NotEnclosed:
    """Enclose the output distributions of two inputs; `to_pld` hands them to dp_accounting.

    Raises:
        UserError: If `epsilon` <= 0 or an input is not in the domains.
        LimitReached: If a limit of `options` is reached.
    """
    first, second = given_row(program, row), given_row(program, adjacent)
    exact = exact_rational(epsilon, "eps")
    return loss.pair_distributions(program, exact, first, second, options or Options())


def certify(
    program: Program,
    text: str,
    verdict: Verdict | Decision,
    pairs: Iterable[tuple[Row, Row]] | None = None,
    options: Options | None = None,
) -> Certificate:
    """Record a verdict or a decision, so that `check` can check it.

    Args:
        program: What was verified.
        text: The `.dpg` text that it was parsed from.
        verdict: The result of `verify` or `decide`.
        pairs: As given there.
        options: As given there.

    Raises:
        UserError: If there is nothing to record, or `text` is not the program's.
        LimitReached: If a limit of `options` is reached.
    """
    source = ProgramText(program.name, DPG, text)
    selection = given_pairs(program, pairs)
    if isinstance(verdict, Decision):
        return certify_decision(program, source, verdict, selection, options or Options())
    return certificate.certify(program, source, verdict, selection, options or Options())
