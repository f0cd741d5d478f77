"""Words with steps that come again: no budget serves where they lose more each time."""

import json
import random
from fractions import Fraction

import pytest

import dipapprox
from dipapprox.automata.analysis import analyse
from dipapprox.automata.description import automaton_of
from dipapprox.automata.model import Automaton
from dipapprox.automata.unfolding import augment
from dipapprox.automata.word_climb import Climb
from dipapprox.automata.word_cycles import beyond, loses_again
from dipapprox.automata.words import WordBound, WordSearch
from dipapprox.language.dipa import parse_dipa
from dipapprox.limits import Limits
from dipapprox.privacy.verdict import Answer
from dipapprox.proof_steps.automata import machines_of
from dipapprox.proofs.automaton_proof import Stops
from dipapprox.proofs.prove_automaton import NamedAutomaton, prove_automaton
from dipapprox.proofs.replayed import proved
from dipapprox.replays.digest import digest
from tests.automata.random_automata import random_automaton
from tests.thorough import part


def _alike(seed: int) -> Automaton:
    variables = 1 + seed % 3
    return random_automaton(seed, variables, variables + 1 + seed % 3, shown=0.2, distinct=False)


@pytest.mark.parametrize("seed", part([106, 122, 274, 619, 727, 974, 1081], 3))
def test_words_that_lose_again_and_again_leave_no_budget(seed: int) -> None:
    automaton = _alike(seed)
    found = analyse(automaton, Limits())
    word = found.lower
    assert found.loses_again and isinstance(word, WordBound) and word.again is not None
    graph = augment(automaton, Limits())  # not the quotient, where it was found
    start, end = word.again
    part = slice(start, end)
    values = []
    for times in (8, 16, 24):
        first, second = (
            (*each[:start], *(each[part] * times)) for each in (word.first, word.second)
        )
        seen = (*word.word[:start], *(word.word[part] * times))
        bound = WordSearch(graph, Limits()).bound(first, second, seen)
        values.append(bound.value)
    assert values[0] < values[1] < values[2]
    assert values[2] - values[1] == values[1] - values[0]
    assert beyond(graph, word, Fraction(50), Limits()).value > 50


def test_no_part_loses_again_where_there_is_a_budget() -> None:
    tried = 0
    chance = random.Random(1)
    for seed in part(range(80), 3):
        automaton = _alike(seed)
        known = analyse(automaton, Limits(), with_words=False)
        if known.upper_bound is None or known.quotient is None:
            continue
        graph = known.quotient.graph
        climb = Climb(graph, Limits())
        for _ in range(6):
            word, nodes = climb.walk(8)
            if len(nodes) < 2:
                continue
            start = chance.randrange(len(word))
            first = tuple([each.first for each in word])
            second = tuple([each.second for each in word])
            seen = tuple([each.seen for each in word])
            assert not loses_again(WordSearch(graph, Limits()), first, second, seen, start)
            tried += 1
    assert tried > 60


def test_the_kernel_replays_what_comes_again() -> None:
    automaton = NamedAutomaton("random", _alike(619))
    for budget in (None, Fraction(5)):
        found = prove_automaton(automaton, budget, Stops.HIDDEN, Limits())
        assert found.answer is Answer.NOT_DP and found.has_none and found.upper is None
        assert proved(found, Limits()).unproved is None
    assert "every ε > 0" in found.describe().headline or found.again is not None


HIDDEN_STOP = """
(q0:non-input, 1, 0): x := insample; output oi; goto q1
(q1:non-input, 1, 0): y := insample; output oi; goto q2
(q2, 1, 0): if (insample < x) then output oa; goto q2
            elseif (insample >= x) then output ob; goto q3
(q3, 1, 0): if (insample >= y) then output oa; goto q3
            elseif (insample < y) then output ob; goto q4
(q4, 1, 0): if (insample < x) then output oc; goto q5
            elseif (insample >= x && insample >= y) then output od; goto q5
"""


def test_what_serves_who_sees_stops_serves_others() -> None:
    automaton = automaton_of(
        parse_dipa("""
(q0, 1, 0): x := insample; output oi; goto q1
(q1, 1, 0): if (insample < x) then output oa; goto q2
(q2, 1, 0): if (insample < x) then output oa; goto q2
""")
    )
    claims = {"verdict": "DP", "at least": None}, {"verdict": "DP", "at least": "1"}
    seen = [
        [each["published"]["ends"] for each in machines_of(automaton, False, claim)]
        for claim in claims
    ]
    assert seen == [[False, False, True], [False, False]]


def test_a_proof_for_who_sees_stops_is_refuted_as_one_for_who_does_not() -> None:
    automaton = automaton_of(parse_dipa(HIDDEN_STOP))
    seen = dipapprox.prove(automaton, stops="visible")
    content = json.loads(dipapprox.certify(automaton, HIDDEN_STOP, seen).to_json())
    assert dipapprox.check(json.dumps(content)).outcome.value == "confirmed"
    assert content["verdict"] == "Not_DP" and content["about"]["stops are seen"]
    forged = set()
    for machine in machines_of(automaton, True, content["claim"]):
        content["about"]["stops are seen"], content["machine"] = False, machine
        content["digest"] = digest({k: v for k, v in content.items() if k != "digest"})
        forged.add(dipapprox.check(json.dumps(content)).outcome.value)
    assert forged == {"refuted"}
