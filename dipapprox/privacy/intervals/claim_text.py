"""Claims as people write them: the values of --eps, --eps-prv and --delta, and of sweeps."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.errors import UserError
from dipapprox.language.diagnosis import shorten
from dipapprox.language.values import parse_rational
from dipapprox.privacy.claim import Claim

if TYPE_CHECKING:
    from dipapprox.privacy.intervals import formula_claim
else:
    formula_claim = Deferred("dipapprox.privacy.intervals.formula_claim")

_FORMULA = re.compile(r"[*^()]|.[-+]|\b(?:eps|delta|sqrt|log|exp)\b", re.ASCII)
"""What numbers never contain; the sign of an exponent is taken out first."""

_EXPONENT = re.compile(r"(?<=[\d.])[eE][-+]?\d+", re.ASCII)


@dataclass(frozen=True, slots=True)
class PointClaim:
    """A claim by formulas at one epsilon."""

    formulas: formula_claim.FormulaClaim
    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class IntervalClaim:
    """A claim for every epsilon between two numbers, both included."""

    formulas: formula_claim.FormulaClaim
    lower: Fraction
    upper: Fraction


AnyClaim = Claim | PointClaim | IntervalClaim


def read_claim(epsilon: str, budget: str | None, delta: str) -> AnyClaim:
    """Read a claim.

    Args:
        epsilon: A number, or an interval LO..HI.
        budget: A number or a formula in eps and delta; None: the program's epsilon.
        delta: A number or a formula in eps.

    Raises:
        UserError: If a value is malformed or out of range.
    """
    if ".." in epsilon:
        lower, upper = _interval(epsilon)
        return IntervalClaim(_formulas(budget, delta), lower, upper)
    point = read_epsilon(epsilon)
    if is_formula(delta) or (budget is not None and is_formula(budget)):
        return PointClaim(_formulas(budget, delta), point)
    return Claim(
        epsilon=point,
        delta=parse_rational(delta, "delta"),
        epsilon_prv=None if budget is None else parse_rational(budget, "eps_prv"),
    )


def read_epsilon(text: str) -> Fraction:
    """Read the program's epsilon.

    Raises:
        UserError: If it is not a number > 0.
    """
    epsilon = parse_rational(text, "eps")
    if epsilon <= 0:
        raise UserError(f"eps must be > 0, got {epsilon}")
    return epsilon


def is_formula(text: str) -> bool:
    """Tell formulas from what is, or was meant to be, a number."""
    return bool(_FORMULA.search(_EXPONENT.sub("", text.strip())))


def _formulas(budget: str | None, delta: str) -> formula_claim.FormulaClaim:
    # Numbers are read as numbers, with their limits and messages.
    if not is_formula(delta):
        delta = _plain(delta, "delta")
    if budget is not None and not is_formula(budget):
        budget = _plain(budget, "eps_prv")
    return formula_claim.read_formula_claim(budget, delta)


def _plain(text: str, what: str) -> str:
    value = parse_rational(text, what)
    if value < 0 or (what == "delta" and value > 1):
        allowed = "in [0, 1]" if what == "delta" else ">= 0"
        raise UserError(f"{what} must be {allowed}, got {value}")
    return str(value)


def _interval(text: str) -> tuple[Fraction, Fraction]:
    low, _, high = text.partition("..")
    if not low.strip() or not high.strip() or ".." in high:
        raise UserError(
            f"eps must be a number or an interval LO..HI, got '{shorten(text)}'",
            "for example --eps 0.1..1",
        )
    return parse_rational(low, "eps"), parse_rational(high, "eps")
