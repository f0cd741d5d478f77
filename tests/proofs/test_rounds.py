"""Any number of rounds: known budgets, automata, random programs, what tells the steps."""

import json
import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import log

import pytest
from scipy.stats import dlaplace

import dipapprox
from dipapprox import (
    Answer,
    Limits,
    Options,
    Outcome,
    RealProof,
    SourceError,
    StreamProof,
    UserError,
)
from dipapprox.automata.analysis import analyse
from dipapprox.automata.benchmarks import range_text, sparse_vector_text
from dipapprox.automata.model import Automaton, ControlState, OutputSample, Transition
from dipapprox.automata.runs import END, Looks, RunCost, Seen, is_determined, tells_steps
from dipapprox.automata.structures import holds
from dipapprox.automata.unfolding import (
    UnfoldedEdge,
    Unfolding,
    unfolding,
    unordered,
    with_visible_stops,
)
from dipapprox.graphs import bits
from dipapprox.language.dipa import AutomatonNoise
from dipapprox.proofs import prove_automaton
from dipapprox.proofs.endless_proof import Stops
from dipapprox.proofs.replayed import with_proof
from tests.automata import examples
from tests.automata.examples import automaton
from tests.automata.random_automata import random_automaton
from tests.cases import cases, check_answers, complaint, part, refuses, template_of, text_of
from tests.grammars import write
from tests.schemas import check_schema, validator


def of_text(text: str, budget: str | None = None) -> StreamProof:
    proof = dipapprox.prove(dipapprox.parse(text), budget=budget)
    assert isinstance(proof, StreamProof)
    return proof


SPARSE = text_of("proofs/rounds-1")


@cases(
    "domain, noise, upper",
    ("real -1/3..1/3", "Lap", "2/3"),
    ("real 0..1/2", "DLap", "0"),
    ("real 1/2..5/2", "DLap", "1"),
)
def test_inputs_change_by_no_more_than_their_bounds_allow(domain, noise, upper) -> None:
    text = SPARSE.replace("in real", f"in {domain}").replace("Lap", noise)
    proof = of_text(text)
    assert proof.upper == Fraction(upper)
    svt = text_of("svt_laplace")
    svt = svt.replace("in {0, 1}\noutput", f"in {domain}\noutput").replace("Lap(", f"{noise}(")
    every = dipapprox.prove(dipapprox.parse(svt, for_all="N"))
    some = dipapprox.prove(dipapprox.parse(svt, {"N": 4}), reals=True)
    assert every.upper == some.upper == Fraction(upper)


def test_integer_inputs_need_an_integer_between_their_bounds() -> None:
    text = SPARSE.replace("in real", "in real 1/3..1/2").replace("Lap", "DLap")
    refuses(SourceError, "none lies between the bounds of 'q'", of_text, text)


def changed(text: str, change: str) -> str:
    """Put the lines below `=>` in the place of those above it."""
    old, new = change.split("\n=>\n")
    assert old in text
    return text.replace(old, new)


def test_what_no_theorem_speaks_of_is_refused_with_its_place() -> None:
    """Changes of the sparse vector above, and of the shipped one for all N."""
    shipped = text_of("svt_laplace")
    check_answers("refused_streams", complaint(lambda change: of_text(changed(SPARSE, change))))
    check_answers(
        "refused_rounds",
        complaint(lambda change: dipapprox.parse(changed(shipped, change), for_all="N")),
    )
    ahead = dipapprox.parse(changed(shipped, "q[i]\n=>\nq[i + 1]"), for_all="N")
    assert dipapprox.prove(ahead).upper == 1


INITIAL = text_of("proofs/rounds-9")


def test_a_loop_that_writes_some_entries_only_does_not_give_all_a_first_value() -> None:
    assert dipapprox.prove(dipapprox.parse(INITIAL, for_all="N")).upper == 1
    for old, new in [
        ("for i in 1..N do out", "for i in 2..N do out"),
        ("for i in 1..N do out", "for i in 1..N - 1 do out"),
        ("out[N] in", "out[2 * N] in"),
        ("for i in 1..N do out", "out[1] <- 1\nfor i in 1..N do out"),
    ]:
        with pytest.raises(SourceError, match="something follows the loop over rounds"):
            dipapprox.parse(INITIAL.replace(old, new), for_all="N")


def test_a_limit_ends_in_unknown() -> None:
    endless = SPARSE.replace("if count >= c then exit end", "skip").replace("c = 1", "c = 2")
    endless = endless.replace("r >= rT", "r >= rT and count < 5000000")
    options = Options(limits=Limits(states=50))
    proof = dipapprox.prove(dipapprox.parse(endless), options=options)
    assert proof.answer is Answer.UNKNOWN and "50" in str(proof.reason)


# --- Whether what is published tells the steps ----------------------------------------------------

GRAPH = {0: [(0, 0), (1, 1), (2, 2)], 1: [(3, 1)], 2: [(4, 3)], 3: []}
Graph = dict[int, list[tuple[int, int]]]


def runs_in(graph: Graph) -> Unfolding:
    """What has these steps, each with where it leads."""
    edges = [UnfoldedEdge(node, step, to) for node, row in graph.items() for step, to in row]
    return unfolding(Automaton((), (), ()), [(0, unordered(0))] * len(graph), edges)


def is_told(
    whole: Unfolding, looks: Looks, run: tuple[int, ...], cycles: tuple[range, ...] = ()
) -> bool:
    segments = [range(each.start, each.stop) for each in cycles]
    return is_determined(whole, looks, run, segments)


SEEN = ((), ("a",), ("b",), ("c",), ("c", "exit"))


@cases(
    "run, cycles, told",
    ((1, 3), (), True),
    ((1, 3, 3), (range(1, 2),), True),
    ((2, 4), (), True),
    ((2,), (), True),
    ((1, 3), (range(1),), False),  # it does not lead back,
)
def test_runs_are_told_where_no_step_is_silent(run, cycles, told) -> None:
    graph: Graph = {**GRAPH, 0: GRAPH[0][1:]}
    assert is_told(runs_in(graph), SEEN, run, cycles) == told
    both = (*SEEN[:2], ("a",), *SEEN[3:])  # 1 and 2 look alike; only 4 ends
    assert is_told(runs_in(graph), both, (2, 4), ())
    assert not is_told(runs_in(graph), both, (1, 3), ())


NUMBER_OR_NOISE = text_of("proofs/rounds-number_or_noise")


def test_an_integer_that_is_published_may_be_noise() -> None:
    """0 is seen in both ways: 3/2 is not refuted, as no two inputs lose it."""

    @cache
    def chances(first: int, second: int) -> list[float]:
        above = [dlaplace.sf(1 - q, 1.0) for q in (first, second)]
        both = above[0] * above[1]
        return [both + (1 - both) * dlaplace.pmf(0, 1.0), (1 - both) * dlaplace.pmf(1, 1.0)]

    places = range(-12, 13)
    lost = max(
        abs(log(p / q))
        for u, v in product(places, places)
        for du, dv in product((-1, 0, 1), repeat=2)
        for p, q in zip(chances(u, v), chances(u + du, v + dv), strict=True)
    )
    assert lost < 1.5
    assert (
        dipapprox.prove(dipapprox.parse(NUMBER_OR_NOISE), budget="3/2").answer
        is not dipapprox.Answer.NOT_DP
    )
    name = NUMBER_OR_NOISE.replace("{0, 1}", "{a, b}").replace("publish 0", "publish a")
    assert dipapprox.prove(dipapprox.parse(name), budget="3/2").answer is dipapprox.Answer.NOT_DP


def random_graph(seed: int) -> tuple[Automaton, list[Seen]]:
    """A graph with words for its edges; the last state is the end."""
    chance = random.Random(seed)
    count = chance.randint(2, 4)
    noise = AutomatonNoise(Fraction(1))
    states = tuple(ControlState(f"q{k}", True, noise) for k in range(count))
    transitions, seen = [], list[Seen]()
    for source in range(count - 1):
        for _ in range(chance.randint(1, 3)):
            target = chance.randrange(count)
            shown = tuple(chance.choice("ab") for _ in range(chance.choice((0, 1, 1, 1, 2))))
            if target == count - 1:
                shown += (END,)
            word = f"{source}{len(transitions)}"
            transitions.append(Transition(source, 0, 0, target, word, 0))
            seen.append(shown)
    return Automaton((), states, tuple(transitions)), seen


def runs(automaton: Automaton, length: int) -> list[tuple[int, ...]]:
    """All runs of so many steps, or fewer that have ended."""
    leaving = automaton.leaving()
    found: list[tuple[int, ...]] = [()]
    for _ in range(length):
        longer: list[tuple[int, ...]] = []
        for run in found:
            state = automaton.transitions[run[-1]].target if run else 0
            after = [(*run, index) for index in leaving[state]]
            longer += after or [run]
        found = longer
    return found


def published(run: tuple[int, ...], seen: list[Seen]) -> Seen:
    return tuple(each for index in run for each in seen[index])


@pytest.mark.parametrize("seed", part(range(300), 6))
def test_runs_that_publish_the_same_are_found(seed) -> None:
    """If steps are told, ended runs that publish the same took steps that look alike."""
    automaton, seen = random_graph(seed)
    if not tells_steps(automaton, seen):
        return
    words: dict[Seen, set[tuple[Seen, ...]]] = {}
    for run in runs(automaton, 7):
        if run and seen[run[-1]][-1:] == (END,):
            words.setdefault(published(run, seen), set()).add(tuple(seen[k] for k in run))
    assert all(len(alike) == 1 for alike in words.values())


# --- Answers about automata -----------------------------------------------------------------------


@pytest.mark.parametrize(("text", "least"), [(range_text(8), 1), (sparse_vector_text(20), 1)])
def test_large_automata_have_short_proofs_of_their_least_budget(text, least) -> None:
    """All shifts of 16 values would be 43 million; 20 positives share all that came before."""
    found = prove_automaton.prove_automaton(automaton(text), None, Stops.HIDDEN)
    proved = with_proof(found)
    assert proved.lower == proved.upper == least
    claim = {"verdict": "DP", "budget": least, "at least": least}
    assert proved.written.claim == claim
    assert len(json.dumps(proved.written.steps)) < 60_000


@cases(
    "text, code",
    (examples.DISCLOSING, "DC"),
    (examples.NUM_RANGE_1, "PV"),
    (examples.LEAKING_CYCLE, "LC"),
    (examples.TWO_RANGE_1, "LP"),
)
def test_structures_are_said_in_words_and_drawn(text, code) -> None:
    proof = dipapprox.prove(automaton(text))
    structure = proof.analysis.structure
    assert structure is not None and holds(proof.automaton, structure)
    assert (proof.answer, proof.evidence) == (Answer.NOT_DP, structure)
    facts = dict(proof.describe().facts)
    assert f"({code})" in facts["structure"] and " line" in facts["structure"]
    assert facts["least budget"] == "none"
    fields = proof.to_dict()
    assert fields["structures"] == [code]
    assert fields["least_budget"] == {"lower": str(proof.lower), "upper": None, "exact": False}
    assert 0 < proof.to_dot().count("color=red, fontcolor=red") <= len(set(structure.run))
    needed = [each.budget for each in proof.rounds]
    assert needed == sorted(needed) and needed[-1] > needed[0]


STOPS = """
(q0:non-input, 1/2, 0): x := insample; output oi; goto q1
(q1, 1/4, 0): if (insample < x) then output obot; goto q1
"""
"""It stops as soon as a sample is above: what is seen then costs."""


@pytest.mark.parametrize("distinct", [True, False])
def test_what_is_seen_never_makes_a_budget_smaller(distinct) -> None:
    """Random automata: bounds with stops unseen and seen fit together, and suit the schema."""
    schema = validator("prove")
    answers = set()
    for seed in part(range(40), 4):
        text = random_automaton(seed, distinct=distinct)
        hidden, visible = (dipapprox.prove(text, stops=each) for each in ("hidden", "visible"))
        if visible.upper is not None:
            assert hidden.answer is not Answer.NOT_DP
            assert hidden.lower <= visible.upper
        for proof in (hidden, visible):
            schema.validate(proof.to_dict())
            assert proof.describe().label == proof.answer.value
            assert proof.to_dot().startswith("digraph")
            answers.add(proof.answer)
    assert answers >= {Answer.DP, Answer.NOT_DP}


def test_limits_end_in_unknown_with_what_is_known() -> None:
    proof = dipapprox.prove(automaton(examples.SVT), options=Options(limits=Limits(seconds=0)))
    assert proof.answer is Answer.UNKNOWN
    assert proof.reason == "time limit: 0 s"
    assert not proof.interrupted
    check_schema("prove", proof.to_dict())
    few = dipapprox.prove(
        automaton(examples.k_min_max(4)), options=Options(limits=Limits(states=3))
    )
    assert few.answer is Answer.UNKNOWN
    assert few.reason is not None and few.reason.startswith("path limit")


def test_a_run_whose_first_step_reads_is_looked_at() -> None:
    text = "(q0, 1/2, 0): x0 := insample; output oa; goto q1\n(q1, 1/3, 0):\n"
    text += "    if (insample >= x0) then x0 := insample; output oa; goto q1\n"
    proof = dipapprox.prove(automaton(text), options=Options(proved=True))
    assert proof.answer is Answer.UNKNOWN
    assert "found Not_DP, but the kernel has no proof" in " ".join(str(proof).split())


@pytest.mark.parametrize("stops", ["hidden", "visible"])
def test_ctrl_c_ends_in_unknown(stops, monkeypatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    place = "dipapprox.proofs.prove_automaton.with_visible_stops"
    monkeypatch.setattr("dipapprox.automata.analysis.augment", stopped)
    if stops == "visible":
        monkeypatch.setattr(place, stopped)
    proof = dipapprox.prove(automaton(STOPS), stops=stops)
    assert (proof.answer, proof.interrupted) == (Answer.UNKNOWN, True)
    assert (proof.lower, proof.upper) == (0, None)
    check_schema("prove", proof.to_dict())


# --- Random programs with streams: budgets for any number of rounds beside those of some rounds ---


def random_stream(seed: int) -> str:
    """A program with a stream: stored samples, nested comparisons, now and then an end."""
    text = write("streams", 40, "start", random.Random(seed).choice)
    if seed % 5:
        return text
    # Ties of integers count: the other relations are of reals alone.
    return text.replace("Lap", "DLap").replace(" <= ", " < ").replace(" > ", " >= ")


@pytest.mark.parametrize("seed", part(range(1, 19), 3))
def test_some_rounds_never_need_more(seed) -> None:
    adjacency = ("linf 1", "increasing 1", "decreasing 2")[seed % 3]
    text = random_stream(seed).replace("linf 1", adjacency)
    proof = dipapprox.prove(dipapprox.parse(text), options=Options(limits=Limits(seconds=20)))
    for rounds in (1, 2, 3):
        some = of_rounds(text, rounds)
        if proof.upper is not None:
            assert some.lower <= proof.upper and not some.has_none


@pytest.mark.parametrize("seed", [6, 11, 14, 19, 45, 60, 61, 67, 83, 97])
def test_exact_budgets_are_needed_by_some_rounds(seed) -> None:
    """As many as the tight run takes: its word costs that much in the finite program, too."""
    text = random_stream(seed)
    proof = dipapprox.prove(dipapprox.parse(text))
    if proof.is_exact and isinstance(proof.evidence, RunCost):
        rounds = min(6, len(proof.evidence.run))
        some = of_rounds(text, rounds)
        assert some.upper is None or some.upper <= proof.upper
        assert rounds == 6 or some.lower == proof.lower


def of_rounds(text: str, rounds: int) -> RealProof:
    try:
        program = dipapprox.parse(text, rounds=rounds, values="0..1")
    except UserError as error:
        pytest.fail(error.render())
    limits = Limits(seconds=20)
    found = dipapprox.prove(program, reals=True, options=Options(limits=limits))
    assert isinstance(found, RealProof)
    return found


# --- rounds that are written out ------------------------------------------------------------------

SILENT = text_of("proofs/random_streams-silent")


@pytest.mark.parametrize("above", ["publish no", ""])
def test_the_end_is_seen_in_some_rounds(above) -> None:
    text = SILENT.replace("ABOVE", above)
    rounds = dipapprox.parse(text, rounds=2, values="{-9, -8, 8, 9}")
    assert dipapprox.decide(rounds, budget="1/2").answer is Answer.DP
    assert dipapprox.decide(rounds, budget="9/20").answer is Answer.NOT_DP
    shown = dipapprox.probability(rounds, eps=1, input="8,8")
    symbols = [word for word in (above.removeprefix("publish "), "ended") if word]
    nothing = ["nothing"] * len(symbols)
    assert {each.output[: len(symbols)] for each in shown.outputs} == {
        tuple(symbols),
        tuple(nothing),
    }


def test_a_claim_below_what_some_rounds_need_is_refuted() -> None:
    text = SILENT.replace("ABOVE", "publish no")
    program = dipapprox.parse(text)
    proof = dipapprox.prove(program, budget="1/4")
    assert proof.answer is Answer.NOT_DP
    assert "2 rounds, written out" in str(proof.describe())
    assert "at any" not in str(proof.describe())
    certificate = dipapprox.certify(program, text, proof)
    assert dipapprox.check(certificate.to_json()).outcome is Outcome.CONFIRMED
    rounds = dipapprox.parse(text, rounds=2, values="{-9, -8, 8, 9}")
    assert dipapprox.decide(rounds, budget="1/4").answer is Answer.NOT_DP


@pytest.mark.parametrize("seed", [4, 21])
def test_silent_rounds_lose_again_and_again(seed) -> None:
    """What is published tells no step, but all runs that publish nothing need more and more."""
    text = random_stream(seed)
    proof = dipapprox.prove(dipapprox.parse(text))
    assert isinstance(proof, StreamProof) and proof.again is not None
    assert proof.has_none
    assert of_rounds(text, 1).lower < of_rounds(text, 2).lower < of_rounds(text, 3).lower
    certificate = dipapprox.certify(proof.subject, text, proof)
    assert dipapprox.check(certificate.to_json()).outcome is Outcome.CONFIRMED


# --- streams that were automata -------------------------------------------------------------------


def as_stream(automaton: Automaton) -> str:
    """A program with a stream that does what an automaton does; it is seen where it stops."""
    shown = {t.output for t in automaton.transitions if isinstance(t.output, str)}
    head = [
        "stream q in real",
        f"publishes {{{', '.join(sorted(shown)) or 'none'}}}",
        "adjacent linf 1",
        "s <- 0",
        "forever do",
    ]
    return "\n".join([*head, *_states(automaton), "end"]) + "\n"


def _states(automaton: Automaton) -> Iterator[str]:
    leaving = automaton.leaving()
    for number, state in enumerate(automaton.states):
        yield f"{'elif' if number else 'if'} s = {number} then"
        if not leaving[number]:
            yield "exit"
            continue
        read = "q + " if state.reads else ""
        if state.reads:
            yield "read q"
        yield f"r <- Lap({read}{state.compared.mean}, {1 / state.compared.rate} / eps)"
        for place, index in enumerate(leaving[number]):
            taken = automaton.transitions[index]
            yield f"{'elif' if place else 'if'} {_guard(automaton, taken)} then"
            match taken.output:
                case OutputSample.COMPARED:
                    yield "publish r"
                case OutputSample.FRESH:
                    yield f"publish Lap({read}{state.fresh.mean}, {1 / state.fresh.rate} / eps)"
                case symbol:
                    yield f"publish {symbol}"
            yield from (f"{automaton.variables[x]} <- r" for x in bits(taken.assigned))
            yield f"s <- {taken.target}"
        yield from ("else", "exit", "end")
    yield "end"


def _guard(automaton: Automaton, taken: Transition) -> str:
    atoms = [f"r >= {automaton.variables[x]}" for x in bits(taken.above)]
    atoms += [f"r < {automaton.variables[x]}" for x in bits(taken.below)]
    return " and ".join(atoms) or "true"


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("seed", part(range(15), 3))
def test_streams_have_the_budgets_of_their_automata(seed, distinct) -> None:
    automaton = random_automaton(seed, distinct=distinct)
    proof = dipapprox.prove(dipapprox.parse(as_stream(automaton)))
    known = analyse(with_visible_stops(automaton))
    assert proof.upper == known.upper_bound
    if distinct:
        assert proof.has_none == known.unbounded
    else:  # stops are seen by another symbol there; that outputs tell runs apart may be missed
        assert known.unbounded or not proof.has_none
    if distinct and not proof.has_none:
        assert proof.lower == known.lower_bound
    assert proof.upper is None or proof.lower <= proof.upper


HALF_NOISE = template_of("rounds-half_noise")
"""Sparse vector with too little noise for a budget of 1."""

CHASE = template_of("rounds-chase")
"""Its first two steps cost 1; that the third may find no guard costs more, as it is seen."""


@pytest.mark.parametrize(
    ("text", "budget", "first", "second"),
    part(
        [
            (CHASE, "5/3", (-4, -4, 4), (-5, -5, 5)),
            (HALF_NOISE, "3/2", (4, 4, -4, -4), (5, 5, -5, -5)),
        ],
        2,
    ),
)
def test_a_least_budget_is_that_of_enough_steps(text, budget, first, second) -> None:
    """It is a budget of the first steps; where they have the dearest run, hardly less is none."""
    stream, least = as_stream(automaton(text)), Fraction(budget)
    assert dipapprox.prove(dipapprox.parse(stream)).upper == least
    near, far = (
        dipapprox.parse(stream, rounds=len(first), values=values) for values in ("0..1", "-5..5")
    )
    assert dipapprox.decide(near, budget=least).answer is Answer.DP
    zeros = (0,) * (len(far.inputs) - len(first))
    pair = (*first, *zeros), (*second, *zeros)
    less = dipapprox.decide(far, budget=least - Fraction(1, 100), pairs=[pair])
    assert less.answer is Answer.NOT_DP
