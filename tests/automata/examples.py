"""Automata of the literature, written here from their published descriptions, and families."""

from __future__ import annotations

from dipapprox.automata.benchmarks import all_pairs_text as all_pairs
from dipapprox.automata.benchmarks import min_max_text as k_min_max
from dipapprox.automata.benchmarks import range_text as m_range
from dipapprox.automata.benchmarks import sparse_vector_text as sparse_vector
from dipapprox.automata.description import automaton_of
from dipapprox.automata.model import Automaton
from dipapprox.language.dipa import parse_dipa

__all__ = ["all_pairs", "automaton", "chain", "k_min_max", "m_range", "sparse_vector"]


def automaton(text: str) -> Automaton:
    return automaton_of(parse_dipa(text))


SVT = """
(q1:non-input, 1/4, 0): x := insample; output oin; goto q2
(q2, 1/2, 0): if (insample < x) then output obot; goto q2
              elseif (insample >= x) then output otop; goto q3
"""

NUM_SPARSE = """
(q1:non-input, 1/4, 0): x := insample; output oin; goto q2
(q2, 1/2, 0, 1/2, 0): if (insample < x) then output obot; goto q2
                      elseif (insample >= x) then output insampleprime; goto q3
"""

_THRESHOLDS = """
(q1:non-input, 1/4, 0): low := insample; output ostart; goto q2
(q2:non-input, 1/4, 1): high := insample; output ostart; goto q3
"""

DISCLOSING = f"""{_THRESHOLDS}
(q3, 1/4, 0): if (insample >= low && insample < high) then output insample; goto q3
              elseif (insample >= low && insample >= high) then output otop; goto q4
              elseif (insample < low && insample < high) then output obot; goto q4
"""

NUM_RANGE_1 = f"""{_THRESHOLDS}
(q3, 1/4, 0): if (insample >= low && insample < high) then output ocont; goto q3
              elseif (insample >= low && insample >= high) then output insample; goto q4
"""

NUM_RANGE_2 = f"""{_THRESHOLDS}
(q3, 1/4, 0, 1/4, 0):
    if (insample >= low && insample < high) then output ocont; goto q3
    elseif (insample >= low && insample >= high) then output insampleprime; goto q4
"""

LEAKING_CYCLE = """
(q1:non-input, 1/2, 0): x := insample; output obot; goto q2
(q2:non-input, 1/2, 10): y := insample; output obot; goto q3
(q3, 1/6, 0): if (insample >= x && insample < y) then output obot; goto q4
(q4, 1/6, 0): if (insample < y) then y := insample; output obot; goto q3
"""

LEAKING_CYCLE_OF_THE_PAPER = """
(q1:non-input, 1/2, 0): x := insample; output obot; goto q2
(q2:non-input, 1/2, 1): y := insample; output obot; goto q3
(q3, 1/6, 0): if (insample < x && insample >= y) then output otop; goto q3
              elseif (insample < y) then y := insample; output obot; goto q3
"""


def _two_range(after: str, resampling: str) -> str:
    return f"""
(q1:non-input, 1/4, 0): u := insample; output obot; goto q2
(q2:non-input, 1/4, 1): v := insample; output obot; goto q3
(q3:non-input, 1/4, 2): w := insample; output obot; goto q4
(q4, 1/4, 0):
    if (insample >= u && insample < v) then output ocont; goto q4
    elseif (insample < u) then output obot; goto qh
    elseif (insample >= u && insample >= v && insample < w) then output otop; goto {after}
    elseif (insample >= u && insample >= v && insample >= w) then output oout; goto qh
{resampling}
(q6, 1/4, 0):
    if (insample >= v && insample < w) then output ocont; goto q6
    elseif (insample < v) then output obot; goto qh
    elseif (insample >= v && insample >= w) then output otop; goto qh
"""


TWO_RANGE_1 = _two_range("q6", "")
TWO_RANGE_2 = _two_range("q5", "(q5:non-input, 1/4, 1): v := insample; output obot; goto q6")

SILENT = """
(q0, 1, 0): x := insample; output otop; goto q1
(q1, 1, 0): if (insample >= x) then output otop; goto q0
            elseif (insample < x) then output otop; goto q1
"""
"""The paper's NWF: a leaking cycle, and yet private, because nothing is ever seen."""


def gap(middle: str, first_output: str, after_first: str) -> str:
    return f"""
(q0:non-input, 1/10, 0): z := insample; output oa; goto q1
(q1:non-input, 1/10, 2): y := insample; output {first_output}; goto {after_first}
{middle}
(q3:non-input, 1/10, -1): x := insample, y := insample; output oa; goto qs
(qs, 20, 0): if (insample < x) then output obot; goto qs1
(qs1, 1/10, 0): if (insample < z) then output obot; goto qs2
    elseif (insample >= z && insample >= x && insample < w) then output otop; goto qh
(qs2, 1/10, 0): w := insample; output obot; goto qs
"""


GAP_PV = gap(
    "(q2, 1/10, 0): if (insample < y) then w := insample; output oa; goto q3", "insample", "q2"
)

GAP_LP = gap(
    """
(qc, 20, 0): if (insample >= y) then output obot; goto qc2
(qc2, 1/10, 0): if (insample >= y) then output obot; goto qc
    elseif (insample < y) then w := insample; output otop; goto q3
""",
    "oa",
    "qc",
)


def chain(threshold: str, reads: bool, *uses: str) -> str:
    """One threshold and its uses in turn: '<1' or '>=3/2' with a rate, '*' for any number of times.

    A repeated use must have the rate of the next one, and the other direction.
    """
    kind = "" if reads else ":non-input"
    lines = [f"(q0{kind}, {threshold}, 0): x := insample; output oi; goto q1"]
    number = 1
    waiting = ""
    for use in uses:
        relation, rate = ("<", use[1:]) if use[0] == "<" else (">=", use[2:])
        branch = f"(insample {relation} x) then output"
        if use.endswith("*"):
            waiting = f"{branch} oloop; goto q{number}"
            lines.append(f"(q{number}, {rate.rstrip('*')}, 0): if {waiting}")
            continue
        step = f"{branch} ostep; goto q{number + 1}"
        if waiting:
            lines[-1] += f" elseif {step}"
        else:
            lines.append(f"(q{number}, {rate}, 0): if {step}")
        waiting = ""
        number += 1
    return "\n".join(lines)
