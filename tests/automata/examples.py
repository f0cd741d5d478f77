"""Automata of the literature, as the reproduced tables have them, and families."""

from dipapprox.automata.benchmarks import all_pairs_text as all_pairs
from dipapprox.automata.benchmarks import min_max_text as k_min_max
from dipapprox.automata.benchmarks import range_text as m_range
from dipapprox.automata.benchmarks import sparse_vector_text as sparse_vector
from dipapprox.automata.model import Automaton, automaton_of
from dipapprox.experiments.tables.table import plan
from dipapprox.language.dipa import parse_dipa
from tests.cases import template_of

__all__ = ["all_pairs", "automaton", "k_min_max", "m_range", "sparse_vector"]


def automaton(text: str) -> Automaton:
    return automaton_of(parse_dipa(text))


def _published(name: str) -> str:
    return plan().automata[name].text


SVT, NUM_SPARSE = map(_published, ("SVT", "NUM-SPARSE"))
NUM_RANGE_1, NUM_RANGE_2 = map(_published, ("NUM-RANGE-1", "NUM-RANGE-2"))
TWO_RANGE_1, TWO_RANGE_2 = map(_published, ("TWO-RANGE-1", "TWO-RANGE-2"))
DISCLOSING, LEAKING_CYCLE = map(_published, ("DC-EXAMPLE", "LC-EXAMPLE"))
GAP_PV, GAP_LP = map(_published, ("GAP-PV", "GAP-LP"))


CHAIN = template_of("examples-chain")
"""One threshold, compared twice: the coupling paper's chain of cost 3."""
