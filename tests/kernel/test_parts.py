"""Parts that are independent: against sums over all joint outputs, and machines that have none."""

import random
from collections import Counter
from fractions import Fraction
from itertools import islice, product
from math import exp, prod
from typing import Any

import pytest

import dipapprox
from dipapprox import Program
from dipapprox.errors import NoCertificate
from dipapprox.kernel import parts
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.judgements import Change
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.parts import Parts
from dipapprox.kernel.proofs import Proof, distributions
from dipapprox.kernel.replay import replay
from dipapprox.proof_steps.independent_parts import parts_proof
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import number_json
from dipapprox.replays.words import words_of
from kernel.forgeries import judged, spread
from kernel.machines import finite
from tests.cases import THOROUGH, cases, check_answers, evaluated, refuses, text_of

Json = Any
Rows = list[list[Fraction]]
HALF = Fraction(1, 2)


def chosen(rows: Rows, cell: str, out: str) -> Json:
    """Statements that choose an output with the probabilities of an input."""
    found: Json = []
    for q, row in reversed(list(enumerate(rows))):
        options = [[o, number_json(p)] for o, p in enumerate(row)]
        choice = [["choose", ["cell", "x"], options, False]]
        found = [["if", ["=", ["cell", cell], q], choice, found]] if found else choice
    return [*found, ["set", ["cell", out], ["cell", "x"]], ["forget", ["x"]]]


def machine(kinds: list[Rows], adjacency: Json, shared: bool = False) -> Json:
    """A part of each kind, of an input of its own or of one for all."""
    names = ["q" if shared else f"q[{k}]" for k in range(1, len(kinds) + 1)]
    outs = [f"out[{k}]" for k in range(1, len(kinds) + 1)]
    body = []
    for rows, name, out in zip(kinds, names, outs, strict=True):
        body += chosen(rows, name, out)
    domain = {"from": 0, "to": len(kinds[0]) - 1}
    cells = [[name, domain] for name in dict.fromkeys(names)]
    outputs = [[out, [0, 1, 2]] for out in outs]
    return finite(body, inputs=cells, outputs=outputs, adjacency=adjacency)


def delta(kinds: list[Rows], u: tuple[int, ...], v: tuple[int, ...], eps_prv: float) -> float:
    """Of two inputs, one number for each part, over all joint outputs."""
    found = 0.0
    for outputs in product(range(3), repeat=len(kinds)):
        p, q = (
            prod(float(rows[i][o]) for rows, i, o in zip(kinds, each, outputs, strict=True))
            for each in (u, v)
        )
        found += max(p - exp(eps_prv) * q, 0.0)
    return found


def claim(verdict: str, eps_prv: Fraction, bound: float | Fraction) -> Json:
    stated = {
        "eps_prv": number_json(eps_prv),
        "delta": number_json(Fraction(bound).limit_denominator(10**9)),
    }
    return {"verdict": verdict, "eps": 1, "pairs": None, **stated}


def random_rows(source: random.Random, values: int) -> Rows:
    """Probabilities of three outputs for each value, none of them 0."""
    found = []
    for _ in range(values):
        weights = [Fraction(source.randint(1, 6)) for _ in range(3)]
        found.append([weight / sum(weights) for weight in weights])
    return found


def changes(u: tuple[int, ...], v: tuple[int, ...]) -> list[int]:
    return [b - a for a, b in zip(u, v, strict=True)]


NORMS: list[tuple[Json, Any]] = [
    ({"norm": "l1", "radius": 1}, lambda u, v: sum(map(abs, changes(u, v))) <= 1),
    ({"norm": "l1", "radius": 2}, lambda u, v: sum(map(abs, changes(u, v))) <= 2),
    ({"norm": "l0", "radius": 2}, lambda u, v: sum(map(bool, changes(u, v))) <= 2),
    ({"norm": "linf", "radius": 1}, lambda u, v: max(map(abs, changes(u, v))) <= 1),
    ({"norm": "all"}, lambda u, v: True),
    ({"norm": "increasing", "radius": 1}, lambda u, v: {*changes(u, v)} <= {0, 1}),
]


@cases("norm, adjacent", *(NORMS if THOROUGH else NORMS[::2]))
def test_the_worst_pair_is_bounded_closely(norm, adjacent) -> None:
    """From above within what classes and grids cost; from below by the worst pair."""
    source = random.Random(str(norm))
    kind = random_rows(source, 3)
    kinds = [kind, kind, random_rows(source, 3)]
    inputs = list(product(range(3), repeat=3))
    pairs = [(u, v) for u in inputs for v in inputs if u != v and adjacent(u, v)]
    worst = max(pairs, key=lambda pair: delta(kinds, *pair, 0.5))
    true = delta(kinds, *worst, 0.5)
    given = machine(kinds, norm)
    steps: tuple[Json, ...] = ()
    for more in (0.01, 0.03, 0.1, 0.3):
        said = claim("DP", HALF, true + more * (1 - true))
        try:
            steps = parts_proof(given, said, None)
        except (NoCertificate, NotProved):
            continue
        break
    assert steps
    assert replay(given, said, steps)
    ends = [each for each in steps if each["rule"] == "private composition"]
    assert len(ends) == 1
    with pytest.raises((NoCertificate, NotProved)):
        parts_proof(given, claim("DP", HALF, true * 0.999), None)
    if true > 1e-3:
        named = tuple(tuple(map(Fraction, each)) for each in worst)
        said = claim("Not_DP", HALF, true * 0.98)
        steps = parts_proof(given, said, named)
        assert replay(given, said, steps)
        with pytest.raises((NoCertificate, NotProved)):
            parts_proof(given, claim("Not_DP", HALF, true * 1.001), named)


def test_losses_that_are_0_or_infinite_lie_on_any_grid() -> None:
    told = [[Fraction(k == o) for o in range(3)] for k in range(2)]
    given, named = machine([told, told], {"norm": "all"}), ((Fraction(0),) * 2, (Fraction(1),) * 2)
    said = claim("Not_DP", HALF, 0.9)
    assert replay(given, said, parts_proof(given, said, named))
    same = machine([[told[0]] * 2] * 2, {"norm": "all"})
    refuses((NoCertificate, NotProved), None, parts_proof, same, said, named)


def test_pairs_that_are_listed_are_those_that_are_meant() -> None:
    """Adjacent or not: of those that are, one input changes, of one that is listed, both do."""
    kinds = [random_rows(random.Random(5), 2)] * 2
    given, both = machine(kinds, {"norm": "l1", "radius": 1}), [[[0, 0], [1, 1]], [[1, 1], [0, 0]]]
    one, two = (
        max(delta(kinds, u, v, 0.5) for u, v in ((u, v), (v, u)))
        for u, v in (((0, 0), (1, 0)), ((0, 0), (1, 1)))
    )
    assert one < two
    said = claim("DP", HALF, one + 0.1 * (two - one))
    steps = parts_proof(given, said, None)
    assert replay(given, said, steps)
    refuses(NotProved, "no losses are above", replay, given, {**said, "pairs": both}, steps)
    listed = machine(kinds, {"pairs": both, "one way": False})
    said = claim("DP", HALF, two + 0.1 * (1 - two))
    steps = parts_proof(listed, said, None)
    assert replay(listed, said, steps)
    assert replay(given, {**said, "pairs": both}, steps)
    refuses((NoCertificate, NotProved), None, parts_proof, listed, claim("DP", HALF, one), None)


def test_parts_may_have_a_common_input() -> None:
    kinds = [random_rows(random.Random(9), 2)] * 4
    given = machine(kinds, {"norm": "all"}, shared=True)
    true = max(delta(kinds, (a,) * 4, (1 - a,) * 4, 0.5) for a in (0, 1))
    said = claim("DP", HALF, true * 1.3)
    assert replay(given, said, parts_proof(given, said, None))
    alone = {**given, "adjacency": {"pairs": [[[0], [1]]], "one way": False}}
    assert replay(alone, said, parts_proof(alone, said, None))


def test_many_parts_need_no_list_of_inputs() -> None:
    """Sixty counts: 3^60 inputs, and as many pairs as nobody goes through."""
    text = text_of("kernel/parts-1")
    program = dipapprox.parse(text)
    assert isinstance(program, Program)
    given = machine_json(program)
    said = claim("DP", Fraction(2), 0)
    assert replay(given, said, parts_proof(given, said, None))
    with pytest.raises((NoCertificate, NotProved)):
        parts_proof(given, claim("DP", Fraction(19, 10), 0), None)
    # One count may tell 1 of two inputs, two counts 2.
    for changed in (1, 2):
        broken = claim("Not_DP", changed - Fraction(1, 1000), 0)
        pair = (Fraction(1),) * changed + (Fraction(0),) * (60 - changed), (Fraction(0),) * 60
        assert replay(given, broken, parts_proof(given, broken, pair))


KINDS = [random_rows(random.Random(4), 2), random_rows(random.Random(5), 2)]
PLAIN = machine(KINDS, {"norm": "linf", "radius": 1})
BODY = PLAIN["body"]
SAID = claim("DP", HALF, 0.9)
STEPS = [dict(each) for each in parts_proof(PLAIN, SAID, None)]


def with_step(place: int, *without: str, **changed: Json) -> list[Json]:
    own = {name: each for name, each in STEPS[place].items() if name not in without} | changed
    return [*STEPS[:place], own, *STEPS[place + 1 :]]


PLACES = {each["rule"]: k for k, each in reversed([*enumerate(STEPS)])}
KNOWN, PAIRS = next(k for k, each in enumerate(STEPS) if "inputs" in each), PLACES["every pair"]
ABOUT, HALVES = STEPS[PAIRS]["of"], [[0, len(BODY) // 2], [len(BODY) // 2, len(BODY)]]


def test_ways_in_which_parts_differ_are_bounded(monkeypatch) -> None:
    said = claim("DP", HALF, 0.9)
    steps = parts_proof(PLAIN, said, None)
    monkeypatch.setattr(parts, "MOST_WAYS", 3)
    refuses(Refused, "differ in more than 3 ways", replay, PLAIN, said, steps)


def _honest() -> list[tuple[Json, Json, list[Json]]]:
    found = []
    for kinds, norm, shared in (
        (KINDS, {"norm": "linf", "radius": 1}, False),
        ([KINDS[0]] * 3, {"norm": "l1", "radius": 1}, False),
        ([KINDS[1]] * 2, {"norm": "all"}, True),
    ):
        given = machine(kinds, norm, shared)
        number_of_inputs = len(given["inputs"])
        inputs = list(product((0, 1), repeat=number_of_inputs))
        wide = [(u, v) for u in inputs for v in inputs if u != v]
        if norm["norm"] == "l1":
            wide = [(u, v) for u, v in wide if sum(map(bool, changes(u, v))) == 1]
        full = {pair: tuple(each * (len(kinds) // len(each)) for each in pair) for pair in wide}
        worst = max(wide, key=lambda pair: delta(kinds, *full[pair], 0.5))
        true = delta(kinds, *full[worst], 0.5)
        said = claim("DP", HALF, true * 1.2 + 0.01)
        found.append((given, said, list(parts_proof(given, said, None))))
        said = claim("Not_DP", HALF, true * 0.9)
        named = tuple(tuple(map(Fraction, each)) for each in worst)
        found.append((given, said, list(parts_proof(given, said, named))))
    return found


HONEST = _honest()


@pytest.mark.parametrize("place", range(len(HONEST)))
def test_what_is_confirmed_of_changed_proofs_is_true(place) -> None:
    proof = ("", HONEST[place])
    assert judged([proof])["true"]
    assert judged(islice(spread([proof]), 7 * place, None, 244))["refused"] > 2


@pytest.mark.parametrize(("eps_prv", "verdict"), [("4001/10000", "DP"), ("2/5", "Not_DP")])
def test_a_million_joint_outputs_are_proved(eps_prv, verdict) -> None:
    """RAPPOR with 20 bits, of which eight differ: the loss is 8 ln(41 / 39)."""
    text = text_of("literature/rappor")
    program = dipapprox.parse(text, {"K": 20})
    options = dipapprox.Options(proved=True)
    found = dipapprox.verify(program, eps=1, delta=0, eps_prv=eps_prv, options=options)
    assert found.answer.value == verdict
    assert found.replayed is not None
    assert found.run.reason is None


def test_pairs_that_nobody_lists_are_served_by_a_budget() -> None:
    """Seven counts and three comparisons: 62,670,392 pairs, and a delta that is not attained."""
    program = dipapprox.parse(text_of("kernel/parts-binary_search"))
    found = dipapprox.verify(program, eps=1, delta="0.01", options=dipapprox.Options(proved=True))
    assert found.answer is dipapprox.Answer.DP
    assert found.replayed is not None


def test_ways_in_which_parts_change_are_counted() -> None:
    """Neither of two parts, one, the other one, or both."""
    said = claim("DP", HALF, 0.9)
    found = replay(PLAIN, said, parts_proof(PLAIN, said, None))
    assert "bounded on 4 sets of them" in words_of(found)


PATTERNS: list[list[tuple[int, int]]] = [
    [(0, 0), (0, 1), (1, 2)],
    [(0, 0), (1, 0), (0, 0)],
    [(0, 0), (0, 1)],
    # The third input changes alone what the first and the second do together.
    [(0, 0), (1, 1), (0, 2), (1, 2), (2, 3)],
]
"""Of each part its kind, and the input that it reads."""


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("norm", "adjacent"), NORMS, ids=[str(norm) for norm, _ in NORMS])
@pytest.mark.parametrize("pattern", PATTERNS, ids=["two kinds", "one input", "alike", "shared"])
def test_ways_are_those_of_all_pairs(pattern, norm, adjacent, seed) -> None:
    """Gone through one by one; changes of a part are known in classes."""
    source = random.Random(seed)
    values = 3 if len(pattern) < 5 else 2
    rows = [random_rows(source, values) for _ in range(3)]
    given = machine([rows[kind] for kind, _ in pattern], norm)
    given["inputs"] = given["inputs"][: 1 + max(place for _, place in pattern)]
    given["body"] = [
        each
        for k, (kind, place) in enumerate(pattern, 1)
        for each in chosen(rows[kind], f"q[{place + 1}]", f"out[{k}]")
    ]
    about = Proof(read_machine(given), None)
    ranges = [[3 * k, 3 * k + 3] for k in range(len(pattern))]
    own = [next(parts.parts_of(about.machine, each)).machine for each in ranges]
    pairs = [((u,), (v,)) for u in range(values) for v in range(values) if u != v]
    changes: dict[Any, Change] = {}
    for part in set(own):
        classes = {pair: source.randint(0, 1) for pair in pairs}
        for kind in (0, 1):
            alike = frozenset(pair for pair in pairs if classes[pair] == kind)
            change = Change(part, Fraction(1), alike, None)
            changes |= {(part, pair): change for pair in alike}
    known = {part: [(u,) for u in range(values)] for part in own}
    found = Parts(about, ranges, Fraction(1), known).ways(changes.values())
    expected = {frozenset[Any]()}
    inputs = list(product(range(values), repeat=len(given["inputs"])))
    for u, v in product(inputs, inputs):
        if adjacent(u, v):
            way: Counter[Change] = Counter()
            for part, (_, place) in zip(own, pattern, strict=True):
                if u[place] != v[place]:
                    way[changes[part, ((u[place],), (v[place],))]] += 1
            expected.add(frozenset(way.items()))
    assert {frozenset(each.items()) for each in found} == expected


def test_parts_that_are_alike_but_for_names_are_one_machine() -> None:
    """Not if they compute which cell they read: such names stay."""
    kind = random_rows(random.Random(1), 2)
    of = read_machine(machine([kind, kind], {"norm": "all"}))
    one, other = (next(parts.parts_of(of, each)) for each in ([0, 3], [3, 6]))
    assert one.machine == other.machine
    assert (one.inputs, other.inputs) == ((0,), (1,))
    looked = ["set", ["cell", "out"], ["element", "q", 2, ["cell", "k"]]]
    inputs = [["q[1]", [0, 1]], ["q[2]", [0, 1]]]
    computed = finite([["set", ["cell", "k"], 1], looked], inputs=inputs, outputs=[["out", [0, 1]]])
    (part,) = parts.parts_of(read_machine(computed), [0, 2])
    assert [name for name, _ in part.machine.inputs] == ["q[1]", "q[2]"]
    assert part.outputs == ("out",)
    step = {"eps": 1, "inputs": None, "bits": 30}
    found = distributions(Proof(part.machine, None), step)
    unit = 1 << found.places
    for input, (low, high) in found.bounds.items():
        assert [list(low), list(high)] == [[unit * (o == (input[0],)) for o in found.outputs]] * 2


# --- What is no part, and what says nothing of parts: expressions, and what is said of each -------


def leaking(cut: int, body: Json) -> Any:
    """The steps are those of the machine without the leak, about the parts of the other one."""
    ranges, changed = [[0, cut], [cut, len(body)]], []
    for each in STEPS:
        own = {**each, "parts": ranges} if "parts" in each else {**each}
        if "of" in own:
            own["of"] = {**own["of"], "part": ranges[int(own["of"]["part"][0] > 0)]}
        changed.append(own)
    return replay({**PLAIN, "body": body}, SAID, changed)


def on_a_sample(place: int, added: bool) -> Any:
    """Losses on a sample are smaller: nobody samples what a part reads."""
    return replay(PLAIN, SAID, with_step(place, sample=["1/2", added]))


KNOWN_PARTS = [k for k, each in enumerate(STEPS) if "inputs" in each]
LOSSES = [k for k, each in enumerate(STEPS) if each["rule"] == "losses"]


def covering(known: list[int] | None) -> Any:
    """Losses of one of two parts cover no pair that changes both; those of the last step do."""
    kept = [{**each, "from": [k if k >= 0 else -k - 1 for k in each["from"]]} for each in STEPS]
    return replay(PLAIN, SAID, [*kept[:-1], kept[-1] | ({} if known is None else {"from": known})])


def parted(known: list[tuple[int]], **fields: Json) -> str:
    """How many parts a machine with other fields has, of which so many inputs are known."""
    of, ranges = read_machine({**PLAIN, **fields}), [[0, 3], [3, 6]]
    machines = {next(parts.parts_of(of, each)).machine: [(0,), (1,)] for each in ranges}
    last = [*machines][-1]
    Parts(Proof(of, None), ranges, HALF, {**machines, last: known})
    return f"{len(machines)} parts"


def named_part() -> Any:
    """What is forgotten stays so, if the part has it at all; at the ends nothing is."""
    x, out = ["cell", "x"], ["cell", "out"]
    body = [["forget", ["z"]], ["set", x, ["cell", "q"]], ["forget", ["x", "z"]], ["set", out, 1]]
    inputs, outputs = [["p", [0, 1]], ["q", [0, 1]]], [["out", [0, 1]]]
    of = read_machine(finite([*body, ["forget", ["q"]]], inputs=inputs, outputs=outputs))
    (part,) = parts.parts_of(of, [0, 5])
    return part


def test_parts_and_what_is_refused_of_them() -> None:
    check_answers("kernel_parts", evaluated(globals(), NotProved))
