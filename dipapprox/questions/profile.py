"""What is the tightest guarantee of a program at one eps, and at which eps does a claim hold?

`profile` and `calibrate` ask from Python; their answers depend on what is given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, ClassVar, Literal, TypedDict, Unpack, overload

from dipapprox.data_classes import Record, replace
from dipapprox.digits import exact_text
from dipapprox.errors import BrokenInvariant, LimitReached, UserError, shorten
from dipapprox.language.core import Draw, Program
from dipapprox.language.traversal import nodes_in
from dipapprox.limits import Progress, silent
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.profiles import calibration
from dipapprox.privacy.profiles.curve import ANYTHING
from dipapprox.privacy.profiles.profile import nothing_known, profile_rounded
from dipapprox.privacy.profiles.profile import profile as profile_of_pairs
from dipapprox.privacy.profiles.profile_result import (
    DEFAULT_WIDTH,
    AtDelta,
    AtEpsPrv,
    AtOrders,
    LeastDelta,
    LeastEpsPrv,
    OnCurve,
    Order,
    PrivacyCurve,
    ProfileAnswer,
    RenyiProfile,
    in_parts,
    is_pure,
)
from dipapprox.privacy.profiles.profile_result import Question as ProfileQuestion
from dipapprox.privacy.run import Options, Setting
from dipapprox.privacy.subjects import executed_for
from dipapprox.proof_steps import ends as proving
from dipapprox.proofs import budget_verdict, real_bounds
from dipapprox.questions import arguments, kinds
from dipapprox.questions.arguments import Spelled
from dipapprox.questions.interface import (
    AnyProgram,
    Number,
    explained,
    known_options,
    known_program,
)
from dipapprox.questions.interface import Pairs as GivenPairs
from dipapprox.questions.kinds import Pairs, is_formula
from dipapprox.questions.question import (
    PROVED,
    WHOLE,
    Question,
    argument,
    limited_by_options,
    read_keywords,
)
from dipapprox.questions.verify import PAIRS_HELP, budgets_of, keeping_time, prefers_budgets

if TYPE_CHECKING:

    class _About(TypedDict, total=False):
        pairs: GivenPairs
        options: Options | None

    class _ToWidth(_About, total=False):
        width: Number | None


_one_of = partial(argument, default=None, group="question (one of these; default: --eps-prv EPS)")
_CHOICES = ("eps_prv", "delta", "curve", "renyi")


def _eps_prv(given: object, name: str) -> Fraction | str:
    if isinstance(given, str) and is_formula(given):
        return given
    return arguments.nonnegative(given, name)


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
    first = arguments.number(low, f"{name}: the first eps_prv")
    last = arguments.number(high, f"{name}: the last eps_prv")
    points = arguments.number(count, f"{name}: the number of points")
    if points.denominator != 1:
        raise UserError(f"{name}: the number of points must be whole, got {exact_text(points)}")
    return first, last, int(points)


def _order(given: object, name: str) -> Order:
    if isinstance(given, str) and given.strip() == "inf":
        return "inf"
    return arguments.number(given, f"{name}: an order")


class Profile(Record, Question, kw_only=True):
    """The least delta for an eps_prv, the least eps_prv for a delta, a curve, or divergences."""

    name: ClassVar[str] = "profile"
    computing: ClassVar[tuple[str, ...]] = (*WHOLE, PROVED)

    eps: Fraction = argument(arguments.positive, "E", "the program's ε, exact: 1/2, 0.5")
    eps_prv: Fraction | str | None = _one_of(
        _eps_prv, "P", "the least δ for this ε_prv: 1/2, log(3)"
    )
    delta: Fraction | None = _one_of(
        arguments.probability, "D", "the least ε_prv for this δ in [0, 1]; 0 asks for pure privacy"
    )
    curve: Range | None = _one_of(
        range_of,
        "LO:HI:COUNT",
        "the whole profile for ε_prv from LO to HI, certified at COUNT points and between",
        swept=False,
    )
    renyi: tuple[Order, ...] | None = _one_of(
        kinds.each_of(_order),
        "ORDERS",
        "Rényi divergences: orders >= 1 and inf, as in 1,3/2,2,8,inf; also bounds zCDP's ρ",
        swept=False,
    )
    width: Fraction | None = argument(
        arguments.positive,
        "W",
        "wanted width of enclosures (default: 1e-9; of δ, δ/10^12; with real inputs a millionth)",
        default=None,
    )
    pairs: Pairs = argument(kinds.pairs, "PAIRS", PAIRS_HELP, default="all")

    def __post_init__(self) -> None:
        _ = self.asked

    @classmethod
    def check(cls, given: Collection[str], spelled: Spelled) -> None:
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

    @limited_by_options
    def answer(
        self, program: Program, options: Options, progress: Progress = silent
    ) -> ProfileAnswer:
        setting = Setting(program, self.pairs.select(program), options, progress)
        asked = self.asked
        at_one = isinstance(asked, AtEpsPrv | AtDelta) and program.rounding is None
        if options.proved and not at_one:
            raise UserError(
                "'proved' asks for the least delta, or the least eps_prv",
                "the kernel has no rules for curves, divergences and irrational scales",
            )
        finite = isinstance(asked, AtOrders) and any(order != "inf" for order in asked.orders)
        real = setting.is_real and isinstance(setting.selection, AllPairs)
        if finite and real and not program.real_outputs:
            raise UserError(
                "Rényi divergences of finite orders are not known for real inputs",
                "'--renyi inf' is; so are --eps-prv, --delta and --curve",
            )
        found = _Profiling(setting, asked).at(self.eps, asked)
        if not options.proved:
            return found
        match asked, found:
            case AtEpsPrv(), LeastDelta():
                return proving.proved_delta(setting, asked, found)
            case AtDelta(), LeastEpsPrv():
                return proving.proved_eps_prv(setting, asked, found)
            case _:
                raise BrokenInvariant("another answer than was asked for")


class Calibrate(Record, Question, kw_only=True):
    """A certified eps of the program, and a slightly larger, refuted one."""

    name: ClassVar[str] = "calibrate"
    computing: ClassVar[tuple[str, ...]] = (*WHOLE, PROVED)

    eps_prv: Fraction = argument(arguments.nonnegative, "P", "the claimed ε_prv")
    delta: Fraction = argument(arguments.probability, "D", "the claimed δ in [0, 1]")
    width: Fraction = argument(
        arguments.share,
        "W",
        "wanted distance of the two ε, relative to the larger (default: 1e-6)",
        default="1e-6",
    )
    pairs: Pairs = argument(kinds.pairs, "PAIRS", PAIRS_HELP, default="all")

    @limited_by_options
    def answer(
        self, program: Program, options: Options, progress: Progress = silent
    ) -> calibration.Calibration:
        setting = Setting(program, self.pairs.select(program), options, progress)
        if options.proved and program.rounding is not None:
            raise UserError("'proved': the kernel has no rules for irrational scales")
        question = AtDelta(self.delta)
        profiling = _Profiling(replace(setting, progress=silent), question)
        near = not (self.delta or options.proved or setting.is_real)
        if near:
            near = prefers_budgets(setting) and profiling.budget(Fraction(1)) is not None

        def least(eps: Fraction, question: AtDelta) -> LeastEpsPrv:
            found = profiling.at(eps, question)
            assert isinstance(found, LeastEpsPrv)
            if found.reason is not None and found.eps_prv_enclosure == ANYTHING:
                raise LimitReached(found.reason)
            return found

        found = calibration.calibrate(
            setting, least, self.eps_prv, self.delta, self.width, near_budget=near
        )
        if options.proved:
            return proving.proved_calibration(setting, found)
        return found


class _Profiling:
    """The profile of a program at one ε after the other: what is the same at all is found once."""

    def __init__(self, setting: Setting, question: ProfileQuestion) -> None:
        self._setting = setting
        self._executed = cache(partial(executed_for, setting, parts=in_parts(question)))
        self._budgets = budgets_of(setting)

    def budget(self, eps: Fraction) -> Fraction | None:
        """A D such that the program is (D ε, 0)-private; where all scales are c / ε at every ε."""
        draws = (each for each in nodes_in(self._setting.program.body) if isinstance(each, Draw))
        return self._budgets(eps if any(draw.scale.power != -1 for draw in draws) else None)

    def at(self, eps: Fraction, question: ProfileQuestion) -> ProfileAnswer:
        """Ask who may answer while the answer is wider than asked for: pairs, budgets, some
        bounds."""
        setting, program = self._setting, self._setting.program
        proves = setting.options.proved
        if program.rounding is not None:
            return profile_rounded(setting, eps, question)
        prefers, pure = prefers_budgets(setting), is_pure(question) and not proves
        found: ProfileAnswer | None = None
        obstacle: LimitReached | None = None
        try:
            asked = question.eps_prv if isinstance(question, AtEpsPrv) else None
            if prefers and isinstance(asked, Fraction):
                budget = self.budget(eps)
                if budget is not None and budget * eps <= asked:
                    # Bounds of all pairs take far longer.
                    return budget_verdict.nothing_left(setting, eps, asked)
            budget = self.budget(eps) if pure and prefers else None
            if budget is not None and isinstance(question, AtDelta):
                found = real_bounds.RealBounds(setting).exactly(eps, question)
                if found is not None:
                    return found
            with keeping_time(setting):
                found = profile_of_pairs(setting, eps, question, budget, self._executed())
        except LimitReached as reached:
            obstacle = reached
            with suppress(LimitReached):  # what is known stays known
                if not proves:
                    bounds = real_bounds.RealBounds(setting)
                    found = bounds.from_below(eps, question, reached.reason)
        if found is None:
            found = nothing_known(setting, eps, question, obstacle)
        curve = found if isinstance(found, PrivacyCurve) and not proves else None
        zero = curve is not None and budget_verdict.leaves_zero_open(curve)
        if found.reason is None and not zero:
            return found
        with suppress(LimitReached):
            if pure or zero or obstacle is not None or (not proves and real_bounds.is_wide(found)):
                budget = self.budget(eps)
                if budget is not None:
                    found = budget_verdict.within_budget(found, question, budget, program)
            if found.reason is not None and setting.is_real and not proves:
                found = real_bounds.RealBounds(setting).from_above(found, question)
        return found


@overload
def profile(
    program: AnyProgram, *, eps: Number, eps_prv: Number | None = None, **more: Unpack[_ToWidth]
) -> LeastDelta: ...


@overload
def profile(
    program: AnyProgram, *, eps: Number, delta: Number, **more: Unpack[_ToWidth]
) -> LeastEpsPrv: ...


@overload
def profile(
    program: AnyProgram,
    *,
    eps: Number,
    curve: str | tuple[Number, Number, int],
    **more: Unpack[_About],
) -> PrivacyCurve: ...


@overload
def profile(
    program: AnyProgram,
    *,
    eps: Number,
    renyi: str | Iterable[Number | Literal["inf"]],
    **more: Unpack[_ToWidth],
) -> RenyiProfile: ...


@explained('profile(program, eps=1, delta="1e-5")')
def profile(
    program: AnyProgram,
    *,
    eps: Number,
    eps_prv: Number | None = None,
    delta: Number | None = None,
    curve: str | tuple[Number, Number, int] | None = None,
    renyi: str | Iterable[Number | Literal["inf"]] | None = None,
    width: Number | None = None,
    pairs: GivenPairs = "all",
    options: Options | None = None,
) -> ProfileAnswer:
    """Find the tightest guarantee at one eps.

        profile(program, eps=1, eps_prv="1/2")         the least delta
        profile(program, eps=1, delta="0.01")          the least eps_prv; 0 asks for pure privacy
        profile(program, eps=1, curve=(0, 1, 200))     delta for every eps_prv in [0, 1]
        profile(program, eps=1, renyi=(1, 2, "inf"))   Rényi divergences

    Args:
        program: From `parse`.
        eps: The program's privacy parameter, > 0.
        eps_prv: A number >= 0, or made of logarithms; if nothing else is asked, eps by default.
        delta: In [0, 1].
        curve: The first and the last eps_prv, and how many points are certified.
        renyi: Orders >= 1, or "inf".
        width: Wanted of enclosures, > 0.
        pairs: As in `verify`.
        options: How to compute.

    Raises:
        UserError: If an argument is wrong, or the adjacency does not suit the inputs.
        LimitReached: If a limit of `options` is reached and a curve was asked for; other answers
            have what is known by then, and a `reason`.
    """
    question = read_keywords(Profile, locals())
    known = known_program(program, reals=True, delta=question.delta)
    return question.answer(known, known_options(options))


@explained('calibrate(program, eps_prv=1, delta="1e-5")')
def calibrate(
    program: AnyProgram,
    *,
    eps_prv: Number,
    delta: Number,
    width: Number = "1e-6",
    pairs: GivenPairs = "all",
    options: Options | None = None,
) -> calibration.Calibration:
    """Find a program's eps at which (eps_prv, delta) is certified, and a slightly larger one at
    which it is refuted.

    Args:
        program: From `parse`.
        eps_prv: The claimed one, >= 0.
        delta: The claimed one, in [0, 1].
        width: Wanted distance of the two, relative to the larger one, in (0, 1).
        pairs: As in `verify`.
        options: How to compute.

    Raises:
        UserError: If an argument is wrong, or the adjacency does not suit the inputs.
        LimitReached: If a limit of `options` is reached.
    """
    question = read_keywords(Calibrate, locals())
    known = known_program(program, reals=True, delta=question.delta)
    return question.answer(known, known_options(options))
