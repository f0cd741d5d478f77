"""Violations of programs with real outputs as violations of finite programs, to be recorded.

The ends of a witness's intervals cut the numbers into cells (`language.number_cells`); what the
cells tell, the numbers tell, too. So a claim that fails for the cells fails.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import replace
from dipapprox.errors import NoCertificate
from dipapprox.language.core import Program
from dipapprox.language.number_cells import with_number_cells
from dipapprox.numerics.enclosure import UNIT, Enclosure
from dipapprox.pairs.adjacency import OrderedPairs
from dipapprox.privacy.numbers import NumberSet
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer, Verdict, Witness
from dipapprox.privacy.verifier import verify

Cuts = tuple[tuple[Fraction, ...], ...]


def finite_violation(program: Program, verdict: Verdict, options: Options) -> tuple[Verdict, Cuts]:
    """Return a violation of the same claim by the cells of the numbers, and what cuts them.

    Raises:
        NoCertificate: If there is none to be found: then the verdict has no certificate.
    """
    if verdict.answer is not Answer.NOT_DP or verdict.witness is None:
        raise NoCertificate("of real outputs only violations are recorded")
    witness = verdict.witness
    cuts = _cuts(program, witness)
    pair = (witness.input, witness.adjacent)
    cells = with_number_cells(program, cuts)
    found = verify(cells, verdict.claim, OrderedPairs((pair,)), options)
    if found.answer is not Answer.NOT_DP or found.witness is None:
        raise NoCertificate("cells of the numbers do not show the violation")
    # What is stated is about the numbers: their delta is at least that of their cells.
    cell, number = found.delta_enclosure or UNIT, verdict.delta_enclosure or UNIT
    stated = Enclosure(cell.lower, max(cell.upper, number.upper))
    return replace(found, delta_enclosure=stated), cuts


def _cuts(program: Program, witness: Witness) -> Cuts:
    found: list[set[Fraction]] = [set() for _ in program.real_outputs]
    for row in witness.rows:
        for own, value in zip(found, row.output[len(program.outputs) :], strict=True):
            if not isinstance(value, NumberSet):
                continue
            if value.about:
                raise NoCertificate("the violating numbers are in no intervals")
            own.update(end for each in value.intervals for end in each if end is not None)
    return tuple(tuple(sorted(own)) for own in found)
