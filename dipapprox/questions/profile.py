"""What is the tightest guarantee of a program at one eps?"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.digits import exact_text
from dipapprox.errors import BrokenInvariant, UserError, shorten
from dipapprox.language.core import Program
from dipapprox.limits import Progress, silent
from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles.profile_result import LeastDelta, LeastEpsPrv, ProfileAnswer
from dipapprox.privacy.profiles.question import (
    DEFAULT_WIDTH,
    AtDelta,
    AtEpsPrv,
    AtOrders,
    OnCurve,
    Order,
)
from dipapprox.privacy.run import Setting
from dipapprox.questions import kinds, numbers
from dipapprox.questions.argument import Spelled
from dipapprox.questions.computing import PROVED, WHOLE
from dipapprox.questions.kinds import Pairs, is_formula
from dipapprox.questions.methods import AskedProfile
from dipapprox.questions.question import Question, argument
from dipapprox.questions.verify import PAIRS_HELP

if TYPE_CHECKING:
    from dipapprox.proof_steps import ends as proving
else:
    proving = Deferred("dipapprox.proof_steps.ends")

_one_of = partial(argument, default=None, group="question (one of these; default: --eps-prv EPS)")
_CHOICES = ("eps_prv", "delta", "curve", "renyi")


def _eps_prv(given: object, name: str) -> Fraction | str:
    """Read eps_prv: a number >= 0, or a formula such as log(3)."""
    if isinstance(given, str) and is_formula(given):
        return given
    return numbers.nonnegative(given, name)


Range = tuple[Fraction, Fraction, int]
"""The first and the last of some numbers, and how many there are."""


def range_of(given: object, name: str) -> Range:
    """Read "LO:HI:COUNT" or (low, high, count)."""
    parts = given.split(":") if isinstance(given, str) else given
    match parts:
        case (low, high, count):
            pass
        case _:
            raise UserError(
                f"{name} needs LO:HI:COUNT, got {shorten(repr(given))}", "for example 0:1.5:200"
            )
    first = numbers.number(low, f"{name}: the first eps_prv")
    last = numbers.number(high, f"{name}: the last eps_prv")
    points = numbers.number(count, f"{name}: the number of points")
    if points.denominator != 1:
        raise UserError(f"{name}: the number of points must be whole, got {exact_text(points)}")
    return first, last, int(points)


def _orders(given: object, name: str) -> tuple[Order, ...]:
    """Read Rényi orders: "1,3/2,inf" or (1, 2, "inf")."""
    several = given.split(",") if isinstance(given, str) else kinds.items(given)
    parts = (given,) if several is None else several
    found: list[Order] = []
    for part in parts:
        if isinstance(part, str) and part.strip() == "inf":
            found.append("inf")
        else:
            found.append(numbers.number(part, f"{name}: an order"))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Profile(Question):
    """The least delta for an eps_prv, the least eps_prv for a delta, a curve, or divergences."""

    name: ClassVar[str] = "profile"
    computing: ClassVar[tuple[str, ...]] = (*WHOLE, PROVED)

    eps: Fraction = argument(numbers.positive, "E", "the program's ε, exact: 1/2, 0.5")
    eps_prv: Fraction | str | None = _one_of(
        _eps_prv, "P", "the least δ for this ε_prv: 1/2, log(3)"
    )
    delta: Fraction | None = _one_of(
        numbers.probability, "D", "the least ε_prv for this δ in [0, 1]; 0 asks for pure privacy"
    )
    curve: Range | None = _one_of(
        range_of,
        "LO:HI:COUNT",
        "the whole profile for ε_prv from LO to HI, certified at COUNT points and between",
        swept=False,
    )
    renyi: tuple[Order, ...] | None = _one_of(
        _orders,
        "ORDERS",
        "Rényi divergences: orders >= 1 and inf, as in 1,3/2,2,8,inf; also bounds zCDP's ρ",
        swept=False,
    )
    width: Fraction | None = argument(
        numbers.positive,
        "W",
        "wanted width of enclosures (default: 1e-9; of δ, δ/10^12; with real inputs a millionth)",
        default=None,
    )
    pairs: Pairs = argument(kinds.pairs, "PAIRS", PAIRS_HELP, default="all")

    def __post_init__(self) -> None:
        _ = self.asked

    @classmethod
    def check(cls, given: Collection[str], spelled: Spelled) -> None:
        """Check that one thing is asked."""
        asked = [spelled(name) for name in _CHOICES if name in given]
        if len(asked) > 1:
            raise UserError(f"one question at a time, got {' and '.join(asked)}")
        if "curve" in given and "width" in given:
            raise UserError(
                f"{spelled('width')} does not go with {spelled('curve')}",
                "ask for more points instead",
            )

    @property
    def asked(self) -> AtEpsPrv | AtDelta | OnCurve | AtOrders:
        """The same, as one of four questions."""
        if self.curve is not None:
            return OnCurve(*self.curve)
        if self.delta is not None:
            return AtDelta(self.delta, self.width)
        if self.renyi is not None:
            return AtOrders(self.renyi, DEFAULT_WIDTH if self.width is None else self.width)
        return AtEpsPrv(self.eps if self.eps_prv is None else self.eps_prv, self.width)

    def answer(
        self, program: Program, options: Options, progress: Progress = silent
    ) -> ProfileAnswer:
        """Find the guarantee; see `Question.answer`."""
        setting = Setting(program, self.pairs.select(program), options, progress)
        asked = self.asked
        at_one = isinstance(asked, AtEpsPrv | AtDelta) and program.rounding is None
        if options.proved and not at_one:
            raise UserError(
                "'proved' asks for the least delta, or the least eps_prv",
                "the kernel has no rules for curves, divergences and irrational scales",
            )
        found = AskedProfile(setting, self.eps, asked).at(self.eps, asked)
        if not options.proved:
            return found
        match asked, found:
            case AtEpsPrv(), LeastDelta():
                return proving.proved_delta(setting, asked, found)
            case AtDelta(), LeastEpsPrv():
                return proving.proved_eps_prv(setting, asked, found)
            case _:
                raise BrokenInvariant("another answer than was asked for")
