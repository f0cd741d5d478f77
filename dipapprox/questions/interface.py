"""The Python interface: what the commands do, as functions.

    program = dipapprox.parse(text)
    verdict = dipapprox.verify(program, eps="0.5", delta="0.01")
    print(verdict.answer, verdict.to_json())

Numbers are exact: texts such as "0.1" and "1/10", int, Fraction and Decimal. A float is refused,
because 0.1 is not 1/10. What is wrong with an argument is a `UserError` that names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypedDict, TypeVar, Unpack, overload

from dipapprox.arithmetic import enclosure as enclosures
from dipapprox.bundled import bundled_programs
from dipapprox.data_classes import replace
from dipapprox.errors import UserError, did_you_mean, shorten
from dipapprox.language import mechanism
from dipapprox.language.checker import check
from dipapprox.language.core import Program
from dipapprox.language.domains import Wider, exact_rational, read_rounds, widening_of
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import (
    DPG,
    OpenProgram,
    Source,
    file_or_bundled,
    finite,
    read_source,
    with_extension,
)
from dipapprox.language.parser import parse as parse_text
from dipapprox.language.symbols import DELTA, needs_delta, with_delta
from dipapprox.limits import limited
from dipapprox.privacy import probabilities as distributions
from dipapprox.privacy.decisions import decision
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.run import Options
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.questions import arguments, kinds
from dipapprox.questions import decide as decisions
from dipapprox.questions import probability as probabilities
from dipapprox.questions.kinds import Row
from dipapprox.questions.question import read_keywords
from dipapprox.questions.verify import Verify
from dipapprox.semantics import real_inputs

if TYPE_CHECKING:
    AnyProgram: TypeAlias = Program | OpenProgram | mechanism.Mechanism[..., Any]

    class _Claim(TypedDict, total=False):
        eps_prv: Number | None
        pairs: Pairs
        options: Options | None
else:
    AnyProgram = Program

Number = int | Fraction | Decimal | str  # an exact number: "0.1", "1/10", Fraction(1, 10)
Pairs = str | Iterable[tuple[Row, Row]]
"""Pairs of inputs: "all" (adjacent ones), "single", "0,0~0,1", the name of a file; or ordered pairs
of inputs."""

P = ParamSpec("P")
R = TypeVar("R")


def explained(example: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a public function answer a wrong call with an example of a right one.

    Python's own `TypeError` counts arguments, which tells nobody that numbers need their names.

    Args:
        example: A right call.

    Returns:
        A decorator of functions without *args and **kwargs.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if isinstance(function, FunctionType):
                _check(function, args, kwargs, example)
            return function(*args, **kwargs)

        return call

    return decorate


def _check(
    function: FunctionType, given: tuple[object, ...], named: dict[str, object], example: str
) -> None:
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    called = function.__name__
    hint = f"for example {example}"
    if len(given) > len(positional):
        extra = " and ".join(f"'{value!s:.40}'" for value in given[len(positional) :])
        raise UserError(f"{called} takes {extra} by name only", hint)
    filled = positional[: len(given)]
    for name in named:
        if name not in names:
            raise UserError(f"{called} has no argument '{name}'", did_you_mean(name, names, hint))
        if name in filled:
            raise UserError(f"{called} was given '{name}' twice", hint)
    optional = (*positional[len(positional) - len(function.__defaults__ or ()) :],)
    optional += tuple(function.__kwdefaults__ or ())
    missing = [name for name in names if name not in {*filled, *named, *optional}]
    if missing:
        raise UserError(f"{called} needs {' and '.join(missing)}", hint)


def _is_name(text: str) -> bool:
    """Whether a text is the name of a file, of a function in one, or of an example: no program."""
    return re.fullmatch(r"[^\n;<]*\.(dpg|dip|dipa|py(:\w+)?)|[\w./-]+", text.strip()) is not None


def _no_text(argument: str, name: str) -> UserError:
    """Return the error of a name that is given where a program is needed."""
    path = Path(with_extension(Path(name)) or name)
    reads = f'dipapprox.parse(Path("{path}")) reads it'
    if not path.suffix and file_or_bundled(path) == path:
        reads = did_you_mean(name, bundled_programs(), "files are read by dipapprox.parse(Path(…))")
    return UserError(f"{argument} is no program, but a name: {name}", reads)


@explained('parse(Path("svt.dpg"), {"N": 3})')
def parse(
    text: str | Path,
    parameters: Mapping[str, Number] | None = None,
    name: str | None = None,
    *,
    widen: Wider | Mapping[str, Wider] | None = None,
    for_all: str | None = None,
    rounds: int | None = None,
    values: Wider | None = None,
) -> Program | OpenProgram:
    """Read a program from text, or from a file, with some of its parameters set.

    A program that mentions `delta` without a value for it stays open until a question, such as
    `verify`, says the δ of its claim.

    Args:
        text: The program; or the `Path` of a .dpg or .dip file, or of a function, "file.py:name".
        parameters: Values in place of their defaults.
        name: What answers call it; None for "program", or that of the file.
        for_all: A parameter that may be any number: only `prove` answers for such a program.
        rounds: How many rounds of a program with streams are taken; with `values`.
        values: What the inputs may be then, as in `widen`.
        widen: A wider domain than the program declares, for all inputs with numbers or by name:
            "-5..5", "{0, 1/2, 1}", range(-5, 6), {"q": "-5..5"}. The adjacency stays.

    Raises:
        SourceError: If the program is wrong; its `diagnostics` say where.
        UserError: If an argument is of the wrong type, a parameter does not exist, or `widen` does
            not suit the inputs.
    """
    if not isinstance(text, str | Path):
        hint = "a file is read by parse(Path(name))"
        raise UserError(f"text must be a text, got {type(text).__name__}", hint)
    if isinstance(text, str) and _is_name(text):
        raise _no_text("text", text.strip())
    if parameters is not None and not isinstance(parameters, Mapping):
        hint = 'for example {"N": 2}'
        raise UserError(f"parameters must be a mapping, got {shorten(repr(parameters))}", hint)
    for key in parameters or {}:
        if not isinstance(key, str):
            raise UserError(f"parameters must have names, got {shorten(repr(key))}")
    if name is not None and not isinstance(name, str):
        raise UserError(f"name must be a text, got {shorten(repr(name))}")
    if for_all is not None and not isinstance(for_all, str):
        raise UserError(f"for_all must be the name of a parameter, got {shorten(repr(for_all))}")
    exact = {key: exact_rational(value, key) for key, value in (parameters or {}).items()}
    if isinstance(text, Path):
        source = read_source(file_or_bundled(text), exact)
    else:
        source = Source("program", DPG, text, parse_text(text), exact)
    program = source.program
    finite = read_rounds(rounds, values)
    called = source.name if name is None else name
    widening = widening_of(widen)
    if for_all is None and DELTA not in source.parameters and needs_delta(program):
        check(with_delta(program))
        return OpenProgram(replace(source, name=called, program=program), widening, finite)
    bound = source.parameters
    return elaborate(program, bound, called, widening, for_all, irrational=True, finite=finite)


@overload
def verify(
    program: AnyProgram, *, eps: int | Fraction | Decimal, delta: Number, **more: Unpack[_Claim]
) -> Verdict: ...


@overload
def verify(
    program: AnyProgram, *, eps: tuple[Number, Number], delta: Number, **more: Unpack[_Claim]
) -> IntervalVerdict: ...


@overload
def verify(
    program: AnyProgram,
    *,
    eps: Number | tuple[Number, Number],
    delta: Number,
    **more: Unpack[_Claim],
) -> Verdict | IntervalVerdict: ...


@explained('verify(program, eps="0.5", delta="0.01")')
def verify(
    program: AnyProgram,
    *,
    eps: Number | tuple[Number, Number],
    delta: Number,
    eps_prv: Number | None = None,
    pairs: Pairs = "all",
    options: Options | None = None,
) -> Verdict | IntervalVerdict:
    """Decide whether a program is (eps_prv, delta)-differentially private.

        verify(program, eps="0.5", delta="0.01")                      eps_prv is eps
        verify(program, eps="0.5", eps_prv="log(3)", delta=0, pairs="single")
        verify(program, eps="0.1..1", eps_prv="2*eps", delta="0.01")  at every eps of an interval

    Args:
        program: From `parse`, or a `mechanism`.
        eps: The program's privacy parameter, > 0; or an interval, "0.1..1" or two numbers.
        delta: In [0, 1]; or a formula in eps.
        eps_prv: At least 0; or a formula in eps and delta. None for eps itself.
        pairs: The pairs of inputs to check; by default all that the program calls adjacent.
        options: How to compute; their limits' clock runs since they were made.

    Returns:
        An `IntervalVerdict` for an interval; for a text, type checkers know of both only.

    Raises:
        UserError: If an argument is wrong or makes no claim, or the adjacency does not suit the
            inputs.
    """
    question = read_keywords(Verify, locals())
    known = known_program(program, reals=True, delta=question.exact_delta)
    return question.answer(known, known_options(options))


@explained("probability(program, eps=1, input=(0, 1))")
def probability(
    program: AnyProgram,
    *,
    eps: Number,
    input: Row = (),
    relative_width: Number | None = None,
    where: str = "",
    options: Options | None = None,
) -> distributions.OutputDistribution:
    """Enclose the probability of every output for one input; what is wider has a `reason`.

    Args:
        program: From `parse`, or a `mechanism`.
        eps: The program's privacy parameter, > 0.
        input: One value per input cell: (0, 1), "0,1".
        relative_width: Refine until each is at most this share of its probability wide, too; in
            (0, 1).
        where: Intervals of real outputs: "0 <= y <= 1, z[2] >= 3".
        options: `precision` is absolute: enclosures at most 2**-precision wide.

    Raises:
        UserError: If an argument is wrong.
    """
    question = read_keywords(probabilities.Probability, locals())
    return question.answer(known_program(program, reals=True), known_options(options))


@explained("decide(program, budget=1)")
def decide(
    program: AnyProgram,
    *,
    budget: Number = 1,
    delta: Number = 0,
    interval: Number | tuple[Number, Number | None] = "0..inf",
    violations: bool = False,
    least_delta: bool = False,
    width: Number = "1e-9",
    pairs: Pairs = "all",
    options: Options | None = None,
) -> decision.Decision:
    """Decide (budget * eps, delta)-privacy for every eps > 0 of an interval, by default for all.

    Args:
        program: From `parse`, or a `mechanism`.
        budget: At least 0.
        delta: A number, or a formula: "exp(-2)", "eps/100".
        interval: Both ends are included, but never 0 and infinity: "0..inf", (0, None).
        violations: Whether to find every eps at which some pair violates the claim.
        least_delta: Whether to enclose the least delta that holds for every eps.
        width: Of the ends of violated ranges and of the least delta, > 0.
        pairs: As in `verify`.
        options: How to compute.

    Raises:
        UserError: If an argument is wrong, the adjacency does not suit the inputs, or the program
            or delta makes no sense for some eps.
    """
    question = read_keywords(decisions.Decide, locals())
    return question.answer(known_program(program, reals=True), known_options(options))


@explained("pair_distributions(program, eps=1, input=(0, 1), adjacent=(1, 1))")
def pair_distributions(
    program: AnyProgram, *, eps: Number, input: Row, adjacent: Row, options: Options | None = None
) -> distributions.PairDistributions | enclosures.NotEnclosed:
    """Enclose the output distributions of two inputs; `to_pld` hands them to dp_accounting.

    Raises:
        UserError: If an argument is wrong.
        LimitReached: If a limit of `options` is reached.
    """
    known = known_program(program, reals=True)
    first = kinds.input_of(input, "input", known)
    second = kinds.input_of(adjacent, "adjacent", known)
    exact = arguments.positive(eps, "eps")
    values = real_inputs.with_values(known, [(first, second)])
    known_ones = known_options(options)
    with limited(known_ones.limits):
        return distributions.pair_distributions(values, exact, first, second, known_ones)


def known_program(program: object, *, reals: bool = False, delta: object = None) -> Program:
    """Return a program, or function, that Python gives, if it is one for all questions but `prove`.

    Args:
        reals: Whether inputs may be any real numbers.
        delta: Of the claim, if it is a number: for functions that depend on it.
    """
    if isinstance(program, Program):
        return finite(program, reals=reals)
    made = program_made(program, delta)
    if made is None:
        if isinstance(program, Path) or (isinstance(program, str) and _is_name(program)):
            raise _no_text("program", str(program).strip())
        hint = "dipapprox.parse(text) reads one, @dipapprox.mechanism makes a function one"
        raise UserError(f"program must be a Program, got {type(program).__name__}", hint)
    return finite(made, reals=reals)


def program_made(given: object, delta: object = None) -> Program | None:
    """Return the program that an open one is at a `delta`, or a Python function with its default
    parameters; None if it is neither.
    """
    if not isinstance(given, OpenProgram | mechanism.Mechanism):
        return None
    return given.program_for(delta) if isinstance(delta, Fraction) else given.program()


def known_options(options: object) -> Options:
    """Return options that a Python program gives, or those by default."""
    if options is None:
        return Options()
    if not isinstance(options, Options):
        raise UserError(
            f"options must be Options, got {type(options).__name__}",
            "for example dipapprox.Options(precision=60)",
        )
    return options


@explained("assert_private(program, eps=1, delta=0)")
def assert_private(
    program: AnyProgram,
    *,
    eps: Number | tuple[Number, Number],
    delta: Number = 0,
    eps_prv: Number | None = None,
    pairs: Pairs = "all",
    options: Options | None = None,
) -> Verdict | IntervalVerdict:
    """Assert that a program or function is (eps_prv, delta)-differentially private.

    Args:
        program: From `parse`, or a `mechanism`.
        eps: The program's privacy parameter, or an interval, as in `verify`.
        delta: In [0, 1]; or a formula in eps.
        eps_prv: At least 0; or a formula. None for eps itself.
        pairs: As in `verify`.
        options: How to compute.

    Returns:
        The verdict, which is DP.

    Raises:
        AssertionError: If it is not, with the witness, or if that is unknown, with the reason.
        UserError: If an argument is wrong.
    """
    verdict = verify(program, eps=eps, delta=delta, eps_prv=eps_prv, pairs=pairs, options=options)
    if verdict.answer is not Answer.DP:
        raise AssertionError(str(verdict))
    return verdict
