"""Final states partition inputs and samples; turns of loops, and what goes wrong on some path."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, example, given, reject
from hypothesis import strategies as st

from dipapprox.bundled import BUNDLED
from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant, LimitReached, SourceError
from dipapprox.language import core
from dipapprox.language.cells import written_out
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import load
from dipapprox.language.parser import parse
from dipapprox.limits import Limits, limited
from dipapprox.semantics import merging, splitting
from dipapprox.semantics.execution import execute
from dipapprox.semantics.parts import ProgramPart, independent_parts
from dipapprox.semantics.run import Execution, State
from dipapprox.semantics.splitting import Refused, Split
from dipapprox.semantics.state import FinalStates, guards_of
from dipapprox.semantics.structure import Structure, measure_structure
from dipapprox.source import Diagnostic
from tests.cases import (
    cases,
    check_answers,
    evaluated,
    examples,
    part,
    refuses,
    template_of,
    texts_in,
)
from tests.grammars import texts
from tests.semantics.interpreter import Noise, Unassigned, distribution, distribution_of_states, run
from tests.semantics.strategies import programs


def check_partition(
    program: core.Program,
    merge: bool,
    seed: int,
    rounds: int,
    fewer: bool = False,
    few_inputs: bool = False,
) -> None:
    """For every input and random samples the states have the outputs' probabilities.

    Without choices, exactly one state holds, with the right outputs. Odd seeds may look at a few
    inputs only.

    Args:
        program: The program.
        merge: Whether states are merged.
        seed: Of the samples.
        rounds: How often they are drawn.
        fewer: Whether choices may depend on the input.
        few_inputs: Whether odd seeds look at a few inputs only.
    """
    generator = random.Random(seed)
    inputs = list(product(*(cell.domain for cell in program.inputs)))
    asked = None
    if few_inputs and seed % 2:
        asked = inputs = generator.sample(inputs, min(generator.randint(1, 5), len(inputs)))
    try:
        with limited(Limits(states=5_000)):
            states = execute(program, merge, compared=fewer, inputs=asked)
    except LimitReached:  # a loop in a loop in a loop
        reject()
    assert len(states.outputs) == len({state.outputs for state in states.states})
    for _ in range(rounds):
        noise = Noise(generator)
        for input in generator.sample(inputs, min(12, len(inputs))):
            found, held = distribution_of_states(states, input, noise)
            assert found == distribution(program, input, noise)
            if not states.choices:
                assert len(held) == 1


@pytest.mark.parametrize("merge", [False, True])
@given(program=programs(), seed=st.integers(0, 2**32))
def test_states_partition_and_agree_with_the_interpreter(merge, program, seed) -> None:
    check_partition(program, merge, seed, 3, few_inputs=True)


@given(program=programs("orders"), seed=st.integers(0, 2**32))
def test_merged_orders_partition_and_agree_with_the_interpreter(program, seed) -> None:
    check_partition(program, True, seed, 6, few_inputs=True)


@pytest.mark.parametrize("merge", [False, True])
@examples(4)
@given(program=programs(integers=True), seed=st.integers(0, 2**32))
def test_states_of_integers_partition_ties_included(merge, program, seed) -> None:
    check_partition(program, merge, seed, 6, few_inputs=True)


@pytest.mark.parametrize("merge", [False, True])
@examples(4)
@given(program=programs("choices"), seed=st.integers(0, 2**32))
def test_states_with_choices_and_loops_have_the_right_probabilities(merge, program, seed) -> None:
    check_partition(program, merge, seed, 2, few_inputs=True)


@given(program=programs("choices"), seed=st.integers(0, 2**32))
def test_states_whose_choices_depend_on_the_input_have_the_right_probabilities(
    program, seed
) -> None:
    check_partition(program, True, seed, 2, fewer=True, few_inputs=True)


@examples(4)
@given(text=texts("columns", 20), seed=st.integers(0, 2**32))
def test_states_are_united_whose_inputs_are_read_again(text, seed) -> None:
    """Counts of the same inputs, one value after the other: columns of a histogram."""
    program = elaborate(parse(text), {}, "columns")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(merging, "_FEW", seed % 9)
        check_partition(program, True, seed, 2, fewer=True)


@pytest.mark.parametrize("never", ["exit", "y <- z[a + 1] + z[b + 1]"])
def test_what_sets_say_is_known_where_several_inputs_are_compared(never) -> None:
    """Where a = b is known from counts, a > b leads nowhere, and nothing is missing there."""
    text = (
        "input a, b in 0..9\noutput out in {0, 1}\nadjacent l1 1\nsame <- 0\n"
        "for k in 0..9 do z[k + 1] <- k end\n"
        "for k in 0..9 do if a = k then if b = k then same <- 1 end end end\n"
        f"y <- 0\nif same = 1 then if a > b then {never} end end\n"
        "r <- Lap(a, 1 / eps)\nif r > y then out <- same else out <- 0 end"
    )
    check_partition(elaborate(parse(text), {}, "counts"), True, 0, 8, fewer=True)


@given(programs("choices"), st.randoms(use_true_random=False))
def test_parts_multiply(whole, random_) -> None:
    """For fixed samples and inputs, choices are the only randomness left."""
    check_product(whole, random_)


def check_product(whole: core.Program, random_: random.Random) -> None:
    noise = Noise(random_)
    input = tuple(random_.choice(cell.domain) for cell in whole.inputs)
    parts = independent_parts(whole)
    assert sorted(k for part in parts for k in part.outputs) == list(range(len(whole.outputs)))
    found: dict[tuple[core.Value, ...], Fraction] = {}
    each = [
        list(distribution(part.program, tuple(input[k] for k in part.inputs), noise).items())
        for part in parts
    ]
    for chosen in product(*each):
        values = joined(parts, [outputs for outputs, _ in chosen])
        found[values] = prod((p for _, p in chosen), start=Fraction(1))
    assert found == distribution(whole, input, noise)


def joined(
    parts: tuple[ProgramPart, ...], outputs: list[tuple[core.Value, ...]]
) -> tuple[core.Value, ...]:
    places = {
        place: value
        for part, values in zip(parts, outputs, strict=True)
        for place, value in zip(part.outputs, values, strict=True)
    }
    return tuple(places[k] for k in range(len(places)))


@cases(
    "domain, body",
    ("0, 2", "z <- DLap(q/2, 1/eps)\nif z > 0 then out <- 1 else out <- 0 end"),
    ("0, 1/2", "z <- DLap(0, 1/eps)\nif z <= q then out <- 1 else out <- 0 end"),
)
def test_inputs_that_are_no_integers_are_told_apart(domain, body) -> None:
    text = f"input q in {{{domain}}}\noutput out in {{0, 1}}\nadjacent all\n{body}\n"
    check_partition(elaborate(parse(text), {}, "program"), True, 1, 20)


def test_structure_is_that_of_states_that_are_not_merged() -> None:
    """Table 6 of DiPApprox (CCS 2025), SVT-Gauss with N = 2; Table 7 is made by `tables`."""
    program = load(BUNDLED / "svt_gauss.dpg", {"N": Fraction(2)})
    found = measure_structure(execute(program, False))
    assert found == Structure(3, Fraction(5, 3), Fraction(7, 3), 3, Fraction(8, 3), 3)
    refuses(ValueError, "not merged", measure_structure, execute(program, True))


# --- Programs that go wrong on some path ----------------------------------------------------------

HEAD = "input q[13] in {0, 1}\noutput out in {0, 1}\nadjacent all\n"
"""More inputs than `Knowledge` enumerates."""


def program(body: str) -> core.Program:
    return elaborate(parse(HEAD + body), {}, "program")


def diagnostics(example: core.Program, merge: bool = True) -> tuple[Diagnostic, ...]:
    with pytest.raises(SourceError) as caught:
        execute(example, merge)
    return caught.value.diagnostics


TOTAL = " + ".join(f"q[{i}]" for i in range(1, 14))


@pytest.mark.parametrize("merge", [False, True])
@cases(
    "never",
    f"{TOTAL} > 0 and {TOTAL} < 1",
    "a > 0 and b > 0 and a + b <= 0",
    # At no input, but for every cell alone.
    "a > q[1] + q[1] and a < q[1] + q[2] - 1 and q[1] >= q[2]",
)
def test_faults_that_rows_or_linear_guards_exclude(never, merge) -> None:
    inner = "out <- z"
    for test in reversed(never.split(" and ")):
        inner = f"if {test} then {inner} end"
    body = "if q[1] > 5 then z <- 1 end\na <- Gauss(0, 1/eps)\nb <- Gauss(0, 1/eps)\nout <- 0\n"
    assert len(execute(program(body + inner), merge).outputs) == 1


def test_lost_states_are_noticed(monkeypatch) -> None:
    def lossy(
        run: Execution, state: State, condition: core.Condition, refused: list[Refused]
    ) -> Split:
        held, _ = split(run, state, condition, refused)
        return held, []

    split = splitting.split
    monkeypatch.setattr(splitting, "split", lossy)
    body = "r <- Gauss(0, 1/eps)\nif r > 0 then out <- 1 else out <- 0 end"
    refuses(BrokenInvariant, "lost", execute, program(body), False)


@pytest.mark.parametrize("merge", [False, True])
@given(program=programs(), seed=st.integers(0, 2**32))
def test_faults_in_unreachable_parts_of_conditions_change_nothing(merge, program, seed) -> None:
    body = tuple(_with_unreachable_reads(program.body))
    check_partition(replace(program, body=body), merge, seed, 2)


def _compare(left: str, relation: str, right: str | int) -> core.Comparison:
    other = core.Variable(right) if isinstance(right, str) else core.Constant(Fraction(right))
    return core.Comparison(core.Variable(left), core.Relation(relation), other)


def _with_unreachable_reads(block: core.Block) -> Iterator[core.Statement]:
    """Put a read of an unassigned variable, where a < b < -1 and a > 1, into two conditions."""
    never = (_compare("a", "<", "b"), _compare("b", "<", -1), _compare("a", ">", 1))
    count = 0
    for statement in block:
        count += isinstance(statement, core.If)
        if isinstance(statement, core.If) and count < 3:  # every one multiplies the paths
            read = core.All((*never, _compare("unknown", ">", 0)))
            yield replace(statement, condition=core.Any((read, statement.condition)))
        else:
            yield statement


@pytest.mark.parametrize("merge", [False, True])
@given(program=programs("faulty"), seed=st.integers(0, 2**32))
def test_programs_without_complaint_never_fail(merge, program, seed) -> None:
    try:
        check_partition(program, merge, seed, 1)
    except SourceError:
        return  # a run may still succeed: faults are often on rare paths
    generator = Random(seed)
    for input in product(*(cell.domain for cell in program.inputs)):
        run(program, input, Noise(generator))


@given(program=programs("faulty"), seed=st.integers(0, 2**32))
def test_failing_runs_are_always_predicted(program, seed) -> None:
    generator = Random(seed)
    failed = True
    with suppress(Unassigned):
        for input in product(*(cell.domain for cell in program.inputs)):
            run(program, input, Noise(generator))
        failed = False
    if failed:
        for merge in (False, True):
            assert diagnostics(program, merge)


def states(family: str, test: str) -> int:
    """Of a program whose output is assigned where a test of noise holds."""
    body = f"r <- {family}(q[1], 1/eps)\nif {test} then out <- 0 end"
    return len(execute(program(body), True).states)


def test_paths_outside_the_support_of_one_sided_noise_are_never_taken() -> None:
    check_answers("execution", evaluated(globals(), SourceError))


_MERGED = """
from dipapprox import Limits, parse
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import guards_of

program = parse('''
input e, f, g, h in -1..1
output out in 0..1
x <- Lap(0, 1/eps)
out, k <- 0
if e + f >= 0 then k <- k + 1 end
if f + g >= 0 then k <- k + 1 end
if g + h >= 0 then k <- k + 1 end
if e + h >= 0 then k <- k + 1 end
if k >= 2 and x >= 0 then out <- 1 end
''')
for state in execute(program, True).states:
    known = [(each.form, each.cell, sorted(each.values or ())) for each in state.conditions]
    print(list(state.outputs), known, guards_of(state.path))
"""


def test_states_are_merged_alike_whatever_the_hashes_of_names() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", _MERGED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "3")
    }
    assert len(said) == 1 and "".join(said).count("\n") > 10


# --- Turns of loops that are repeated: the final states are those of all turns executed -----------

PROGRAMS = Path(__file__).parents[2] / "programs"

TURNS = template_of("execution-turns")

CLEARED = "for i in 1..N do out[i] <- 0 end\n"

LOOPS = texts_in("turns")


def final(states: FinalStates) -> list[object]:
    """The states; the order of the guards of merged ones is that in which points were numbered."""
    return [
        (tuple(state.outputs), state.conditions, frozenset(guards_of(state.path)), state.chosen)
        for state in states.states
    ]


def plain(program: core.Program) -> core.Program:
    """Write all turns out."""
    return replace(program, body=written_out(program.body))


def check(program: core.Program, merge: bool) -> None:
    repeated, executed = (execute(each, merge) for each in (program, plain(program)))
    assert repeated.samples == executed.samples
    assert final(repeated) == final(executed)


def read(text: str, **parameters: int) -> core.Program:
    values = {name: Fraction(value) for name, value in parameters.items()}
    return elaborate(parse(text), values, "loop")


@pytest.mark.parametrize("merge", part([True, False], 2))
@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_repeated_turns_are_executed_ones(text, merge) -> None:
    check(read(text, N=5 if merge else 4), merge)


@pytest.mark.parametrize(
    "path",
    part([*sorted(PROGRAMS.glob("svt_*.dpg")), PROGRAMS / "k_min_max_gauss.dpg"], 3),
    ids=lambda path: path.stem,
)
def test_shipped_programs(path) -> None:
    check(load(path, {"N": Fraction(5 if path.stem.startswith("k") else 8)}), True)


KNOWN = "if q[1] = 0 then exit end\nif q[2] = 0 then exit end\n"


@examples(5)
@given(texts("turns", 20), st.sampled_from(["", "out[4] <- 2\n", KNOWN]), st.booleans())
@example("r <- Gauss(t, 1 / eps)\nif s > r then\nexit\nelse\nlast <- 1\nend", "", True)
def test_random_turns(turn, before, ends) -> None:
    start = "x <- Gauss(0, 1)\ny <- Gauss(t, 1)\nr <- x\ns <- y\n" + ("last <- 1\n" if ends else "")
    program = read(f"{TURNS}{CLEARED}{before}{start}for i in 1..N do\n{turn}\nend", N=6)
    try:
        with limited(Limits(states=300)):
            executed = execute(plain(program), True)
    except LimitReached:
        assume(False)
    with limited(Limits(states=300)):
        assert final(execute(program, True)) == final(executed)


def unrolled(text: str) -> core.Program:
    """Elaborate every turn of every loop."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dipapprox.language.elaborate._MANY_TURNS", 10**6)
        return read(text)


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_what_is_written_out_is_what_every_turn_elaborates_into(text) -> None:
    assert plain(read(text)) == unrolled(text)


@pytest.mark.parametrize("range", ["0..N", "1..N + 1"])
def test_what_is_wrong_in_one_turn_is_reported(range) -> None:
    with pytest.raises(SourceError, match="of 'q' is out of range"):
        read(f"{TURNS}x <- Lap(0, 1)\nfor i in {range} do if q[i] = 1 then x <- 2 end end")
