"""What a case can ask: the fields of each task, their checks, and the call that answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.language.diagnosis import did_you_mean
from dipapprox.language.values import parse_rational
from dipapprox.language.widening import read_domain
from dipapprox.limits import Limits
from dipapprox.numerics.elimination.refinement import Tier
from dipapprox.pairs.adjacency import PairSelection
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.epsilons import read_epsilons
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.intervals.claim_text import (
    IntervalClaim,
    PointClaim,
    read_claim,
    read_epsilon,
)
from dipapprox.privacy.intervals.formula_verifier import verify_formula
from dipapprox.privacy.intervals.verifier import verify_interval
from dipapprox.privacy.options import FIRST_PRECISION, LAST_PRECISION, Engine, Options
from dipapprox.privacy.profiles.calibration import DEFAULT_WIDTH as CALIBRATION_WIDTH
from dipapprox.privacy.profiles.calibration import calibrate
from dipapprox.privacy.profiles.profile import profile
from dipapprox.privacy.profiles.question import DEFAULT_WIDTH, AtBudget, AtDelta, Question
from dipapprox.privacy.selection import select
from dipapprox.privacy.verifier import verify

Fields = Mapping[str, str]
"""The fields of a case, as texts."""

Result = dict[str, object]
"""What `to_dict` of an answer gives."""


@dataclass(frozen=True, slots=True)
class Field:
    """A key of a grid.

    Attributes:
        meaning: For messages.
        check: Gets a value and where it stands; raises UserError.
    """

    name: str
    meaning: str
    check: Callable[[str, str], object]
    required: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of question.

    Attributes:
        fields: In the order of the columns of results.
        missing: Says what is wrong with a set of given fields; None if nothing is.
        answer: Answers one case.
    """

    fields: tuple[Field, ...]
    missing: Callable[[set[str]], str | None]
    answer: Callable[[Program, Fields, PairSelection, Options], Result]


def answer(program: Program, task: str, fields: Fields, limits: Limits) -> Result:
    """Answer one case.

    Raises:
        UserError: If a value does not suit the program.
        LimitReached: If a limit is reached where the task has no Unknown.
    """
    precision = int(fields.get("precision", FIRST_PRECISION))
    options = Options(
        engine=Engine(fields.get("engine", Engine.AUTO.value)),
        tier=Tier(fields.get("tier", Tier.AUTO.value)),
        precision=precision,
        max_precision=int(fields.get("max_precision", max(LAST_PRECISION, precision))),
        merge=fields.get("merge", "true") == "true",
        limits=limits,
    )
    selection = select(fields.get("pairs", "all"), program)
    return TASKS[task].answer(program, fields, selection, options)


# --- checks of single values ----------------------------------------------------------------------


def _claim_part(value: str, where: str) -> None:
    """A number or a formula; what it comes to is checked with its case."""
    name = where.rpartition(" ")[2]
    with _placed(where):
        if name == "eps":
            read_claim(value, None, "0")
        else:
            read_claim("1", value if name == "eps_prv" else None, value if name == "delta" else "0")


def _epsilon(value: str, where: str) -> None:
    with _placed(where):
        read_epsilon(value)


def _budget(value: str, where: str) -> None:
    if parse_rational(value, where) < 0:
        raise UserError(f"{where} must be >= 0, got {value}")


def _delta(value: str, where: str) -> None:
    if not 0 <= parse_rational(value, where) <= 1:
        raise UserError(f"{where} must be in [0, 1], got {value}")


def _decided_delta(value: str, where: str) -> None:
    with _placed(where):
        read_delta(value)


def _interval(value: str, where: str) -> None:
    with _placed(where):
        read_epsilons(value)


def _width(value: str, where: str) -> None:
    if not 0 < parse_rational(value, where) < 1:
        raise UserError(f"{where} must be in (0, 1), got {value}")


def _bits(value: str, where: str) -> None:
    number = parse_rational(value, where)
    if number.denominator != 1:
        raise UserError(f"{where} must be a whole number of bits, got {value}")
    with _placed(where):
        Options(precision=int(number))


def _word(allowed: tuple[str, ...]) -> Callable[[str, str], None]:
    def check(value: str, where: str) -> None:
        if value not in allowed:
            hint = did_you_mean(value, allowed, f"one of {', '.join(allowed)}")
            raise UserError(f"{where}: unknown value '{value}'", hint)

    return check


def _pairs(value: str, where: str) -> None:
    # Files would have to exist wherever a case runs.
    if value not in ("all", "single") and "~" not in value:
        raise UserError(
            f"{where}: '{value}' names no pairs", 'use all, single or "0,0~0,1; 0,0~1,0"'
        )


@contextmanager
def _placed(where: str) -> Iterator[None]:
    """Let the errors of a block say where the value stands."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{where}: {error.message}", error.hint) from None


# --- tasks ----------------------------------------------------------------------------------------


def _verify(program: Program, fields: Fields, selection: PairSelection, options: Options) -> Result:
    claim = read_claim(fields["eps"], fields.get("eps_prv"), fields["delta"])
    match claim:
        case Claim():
            return verify(program, claim, selection, options).to_dict()
        case PointClaim(formulas, epsilon):
            return verify_formula(program, formulas, epsilon, selection, options).to_dict()
        case IntervalClaim(formulas, lower, upper):
            return verify_interval(program, formulas, lower, upper, selection, options).to_dict()


def _profile(
    program: Program, fields: Fields, selection: PairSelection, options: Options
) -> Result:
    width = Fraction(fields["width"]) if "width" in fields else None
    question: Question
    if "delta" in fields:
        delta = parse_rational(fields["delta"], "delta")
        question = AtDelta(delta, DEFAULT_WIDTH if width is None else width)
    else:
        question = AtBudget(parse_rational(fields["eps_prv"], "eps_prv"), width)
    return profile(program, read_epsilon(fields["eps"]), question, selection, options).to_dict()


def _calibrate(
    program: Program, fields: Fields, selection: PairSelection, options: Options
) -> Result:
    width = Fraction(fields["width"]) if "width" in fields else CALIBRATION_WIDTH
    budget = parse_rational(fields["eps_prv"], "eps_prv")
    delta = parse_rational(fields["delta"], "delta")
    return calibrate(program, budget, delta, selection, options, width).to_dict()


def _decide(program: Program, fields: Fields, selection: PairSelection, options: Options) -> Result:
    question = DecisionQuestion(
        budget=parse_rational(fields.get("budget", "1"), "budget"),
        delta=read_delta(fields.get("delta", "0")),
        epsilons=read_epsilons(fields.get("interval", "0..inf")),
    )
    return decide(program, question, selection, options).to_dict()


def _nothing(_given: set[str]) -> None:
    return None


def _one_question(given: set[str]) -> str | None:
    if len(given & {"eps_prv", "delta"}) == 1:
        return None
    return "a profile asks at either 'eps_prv' (least delta) or 'delta' (least eps_prv)"


_ABOUT = (
    Field("widen", "a wider domain of the inputs", read_domain),
    Field("pairs", "the pairs of inputs", _pairs),
)

_COMPUTING = (
    *_ABOUT,
    Field("precision", "bits of the first attempt", _bits),
    Field("max_precision", "bits of the last attempt", _bits),
    Field("engine", "an engine", _word(tuple(engine.value for engine in Engine))),
    Field("tier", "an algebra", _word(tuple(tier.value for tier in Tier))),
    Field("merge", "whether states are merged", _word(("true", "false"))),
)

TASKS = {
    "verify": Task(
        (
            Field("eps", "the program's eps", _claim_part, required=True),
            Field("eps_prv", "the claimed budget", _claim_part),
            Field("delta", "the claimed delta", _claim_part, required=True),
            *_COMPUTING,
        ),
        _nothing,
        _verify,
    ),
    "profile": Task(
        (
            Field("eps", "the program's eps", _epsilon, required=True),
            Field("eps_prv", "a budget", _budget),
            Field("delta", "a delta", _delta),
            Field("width", "the width of enclosures", _width),
            *_COMPUTING,
        ),
        _one_question,
        _profile,
    ),
    "calibrate": Task(
        (
            Field("eps_prv", "the claimed budget", _budget, required=True),
            Field("delta", "the claimed delta", _delta, required=True),
            Field("width", "the relative distance of the two eps", _width),
            *_COMPUTING,
        ),
        _nothing,
        _calibrate,
    ),
    "decide": Task(
        (
            Field("budget", "the claimed budget over eps", _budget),
            Field("delta", "the claimed delta", _decided_delta),
            Field("interval", "the epsilons", _interval),
            *_ABOUT,
            Field("merge", "whether states are merged", _word(("true", "false"))),
        ),
        _nothing,
        _decide,
    ),
}
"""The tasks by name."""
