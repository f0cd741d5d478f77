"""The `.dipa` reader: inverse of its printer, messages with places, a grammar without conflicts."""

from contextlib import suppress
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.errors import SourceError
from dipapprox.language.automata import (
    INSAMPLE,
    AutomatonNoise,
    AutomatonText,
    Location,
    StatedTransition,
    ThresholdTest,
)
from dipapprox.language.dipa import parse_dipa

_NAMES = st.text("abcxyz_019", max_size=4)
_RATIONALS = st.fractions(-3, 3, max_denominator=9)


def _named(letter: str) -> st.SearchStrategy[str]:
    return _NAMES.map(lambda rest: letter + rest)


_VARIABLES = st.sampled_from(("x", "low1", "HIGH", "_u"))
_OUTPUTS = st.one_of(_named("o"), st.sampled_from(("insample", "insampleprime")))


@st.composite
def _steps(draw: st.DrawFn, guarded: bool) -> StatedTransition:
    atoms = st.lists(st.builds(ThresholdTest, _VARIABLES, st.booleans()), min_size=1, max_size=3)
    assigned = draw(st.lists(_VARIABLES, unique=True, max_size=2))
    guard = tuple(draw(atoms)) if guarded else ()
    return StatedTransition(guard, tuple(assigned), draw(_OUTPUTS), draw(_named("q")))


@st.composite
def _locations(draw: st.DrawFn) -> Location:
    noise = st.builds(AutomatonNoise, _RATIONALS, _RATIONALS)
    branches = st.lists(_steps(True), min_size=1, max_size=3)
    steps = draw(st.one_of(branches, _steps(False).map(lambda step: [step])))
    fresh = draw(st.one_of(st.none(), noise))
    return Location(draw(_named("q")), draw(st.booleans()), draw(noise), fresh, tuple(steps))


@given(st.lists(_locations(), min_size=1, max_size=3))
def test_reading_what_is_printed_gives_it_back(locations: list[Location]) -> None:
    automaton = AutomatonText(tuple(locations))
    assert parse_dipa(print_dipa(automaton)) == automaton


def test_the_layout_of_the_release_is_read() -> None:
    text = """(q2,1/2,0, 1/2, 0): if (insample<= x) then v:=insample; output obot; goto q2 \
elseif (insample >= x) then  output insampleprime; goto q3
"""
    (location,) = parse_dipa(text).locations
    half = AutomatonNoise(Fraction(1, 2), Fraction(0))
    assert (location.name, location.reads) == ("q2", True)
    assert (location.insample, location.insample_prime) == (half, half)
    assert location.steps == (
        StatedTransition((ThresholdTest("x", False),), ("v",), "obot", "q2"),
        StatedTransition((ThresholdTest("x", True),), (), "insampleprime", "q3"),
    )
    assert location.steps[0].span.text == "(insample<= x) then v:=insample; output obot; goto q2"


def test_numbers_comments_and_mirrored_comparisons() -> None:
    text = "# SVT\n(q1, 0.25, -3): if (x <= insample && y > insample) then output oa; goto q1 # end"
    (location,) = parse_dipa(text).locations
    assert location.insample == AutomatonNoise(Fraction(1, 4), Fraction(-3))
    assert location.steps[0].guard == (ThresholdTest("x", True), ThresholdTest("y", False))


def test_numbers_may_have_names() -> None:
    """As the coupling paper gives them: rates alone."""
    half, none = AutomatonNoise(Fraction(1, 2), Fraction(0)), Fraction(0)
    for numbers, insample, prime in [
        ("d = 1/2", half, None),
        ("d=1/2, d'=1/2", half, half),
        (
            "d' = 3, mu=1, d = 1/2",
            AutomatonNoise(Fraction(1, 2), Fraction(1)),
            AutomatonNoise(Fraction(3), none),
        ),
        ("d=1/2,mu=0,d'=1/2,mu'=-1", half, AutomatonNoise(Fraction(1, 2), Fraction(-1))),
    ]:
        (location,) = parse_dipa(f"(q1, {numbers}): output oa; goto q2").locations
        assert (location.insample, location.insample_prime) == (insample, prime)
    # A variable may have such a name.
    (location,) = parse_dipa("(q1, 1, 0): mu := insample; output oa; goto q2").locations
    assert location.steps[0].assigned == ("mu",)


_PIECES = (
    "(q1, 1/4, 0)", "(q2:non-input", ":", "x", ":= insample", ";", "output oa", "goto q2", "if (",
    "insample < x", "&&", ") then", "elseif (", "insampleprime", ",", "d = 1", "#", "\n", "0", "-",
    "/", "=", "é", "(", ")",
)  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=25).map(" ".join))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        automaton = parse_dipa(text, "f.dipa")
    except SourceError as error:
        assert all(d.span is not None for d in error.diagnostics)
        assert error.render().startswith("f.dipa:")
    else:
        assert parse_dipa(print_dipa(automaton)) == automaton


@given(st.data())
def test_a_damaged_file_is_read_or_refused_with_a_place(data: st.DataObject) -> None:
    text = (
        "(q1:non-input, 1/4, 0): x := insample, y := insample; output oin; goto q2\n"
        "(q2, 1/2, 0, 1/2, 0): if (insample < x) then output obot; goto q2 "
        "elseif (insample >= x && insample < y) then output insampleprime; goto q3\n"
    )
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    with suppress(SourceError):
        automaton = parse_dipa(text[:start] + text[end:], "f.dipa")
        assert parse_dipa(print_dipa(automaton)) == automaton


def print_dipa(automaton: AutomatonText) -> str:
    """Return the text of an automaton, one line a state; reading it gives the same automaton."""
    return "".join(f"{_print_location(location)}\n" for location in automaton.locations)


def _print_location(location: Location) -> str:
    kind = "" if location.reads else ":non-input"
    noises = [location.insample]
    if location.insample_prime is not None:
        noises.append(location.insample_prime)
    numbers = ", ".join(f"{noise.rate}, {noise.mean}" for noise in noises)
    steps = [_print_step(step) for step in location.steps]
    return f"({location.name}{kind}, {numbers}): {' else'.join(steps)}"


def _print_step(step: StatedTransition) -> str:
    guard = " && ".join(
        f"{INSAMPLE} {'>=' if atom.at_least else '<'} {atom.variable}" for atom in step.guard
    )
    assigned = ", ".join(f"{variable} := {INSAMPLE}" for variable in step.assigned)
    action = f"output {step.output}; goto {step.target}"
    if assigned:
        action = f"{assigned}; {action}"
    return f"if ({guard}) then {action}" if guard else action
