"""The Python interface of `profile` and `calibrate`, whose answers depend on what is given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, overload

from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles.calibration_result import Calibration
from dipapprox.privacy.profiles.profile_result import (
    LeastDelta,
    LeastEpsPrv,
    PrivacyCurve,
    ProfileAnswer,
    RenyiProfile,
)
from dipapprox.questions.calibrate import Calibrate
from dipapprox.questions.calls import explained
from dipapprox.questions.interface import AnyProgram, Number, Pairs, known_options, known_program
from dipapprox.questions.profile import Profile
from dipapprox.questions.question import read_keywords

if TYPE_CHECKING:

    class _About(TypedDict, total=False):
        pairs: Pairs
        options: Options | None

    class _ToWidth(_About, total=False):
        width: Number | None


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
    pairs: Pairs = "all",
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
        LimitReached: If a limit of `options` is reached.
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
    pairs: Pairs = "all",
    options: Options | None = None,
) -> Calibration:
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
