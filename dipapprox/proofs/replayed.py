"""Budgets that the kernel has replayed proofs of: what `prove --proved` asks for."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import TypeVar

from dipapprox.automata.analysis import Analysis
from dipapprox.automata.model import Automaton
from dipapprox.automata.runs import END, Changes, Run, RunCost
from dipapprox.automata.structures import repeated
from dipapprox.automata.word_climb import beyond, runs_again
from dipapprox.automata.words import SeenSymbol, WordBound
from dipapprox.data_classes import replace
from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import NotProved
from dipapprox.language.core import NEXT, Program
from dipapprox.privacy.run import Replayed
from dipapprox.privacy.verdict import Answer
from dipapprox.proof_steps import budgets
from dipapprox.proof_steps.automata import INPUT
from dipapprox.proof_steps.verdicts import NoProof, attempted
from dipapprox.proofs.budget_answer import BudgetAnswer
from dipapprox.proofs.endless_proof import AutomatonProof, EndlessProof, Stops, StreamProof
from dipapprox.proofs.real_proof import RealProof
from dipapprox.proofs.two_inputs import TwoInputs
from dipapprox.rounds.compiled import SILENT

Answered = TypeVar("Answered", bound=BudgetAnswer)


def proved(answer: Answered) -> Answered:
    """Return an answer with what the kernel says; Unknown where it does not follow."""
    if answer.answer is Answer.UNKNOWN:
        return answer
    found = attempted(lambda: _replayed(answer))
    if isinstance(found, NoProof):
        return replace(answer, unproved=found.to(answer.answer))
    return replace(answer, replayed=found)


def with_proof(answer: Answered) -> Answered:
    """Return an answer with a proof that the kernel has replayed, if it has none yet."""
    if answer.unproved is not None:
        raise NoCertificate(answer.unproved)
    if answer.answer is Answer.UNKNOWN:
        raise NoCertificate("the answer is Unknown")
    if answer.replayed is not None:
        return answer
    try:
        return replace(answer, replayed=_replayed(answer))
    except NoCertificate as none:
        raise NoCertificate(f"the kernel has no proof: {none.missing}") from None
    except NotProved as obstacle:
        raise NoCertificate(f"the kernel has no proof: {obstacle}") from None


def _replayed(answer: BudgetAnswer) -> Replayed:
    own = answer.replay()
    if own is not None:
        return own
    private = answer.answer is Answer.DP
    fails: Fraction | None = answer.lower if private or answer.budget is None else answer.budget
    if not private and answer.has_none:
        fails = answer.budget
    bounds = budgets.BudgetBounds(
        answer.upper if private else None, fails, _between(answer), _known_runs(answer)
    )
    subject = proved_subject(answer)
    try:
        return budgets.replayed(*subject, bounds)
    except (NoCertificate, NotProved):
        if not private or answer.budget in (None, answer.upper):
            raise
    # There may be shifts for as much as is claimed.
    return budgets.replayed(*subject, budgets.BudgetBounds(answer.budget))


def proved_subject(answer: BudgetAnswer) -> tuple[Program | Automaton, bool]:
    """Return what an answer is about, and whether it is seen that an automaton stops."""
    match answer:
        case AutomatonProof(automaton=automaton, stops=stops):
            return automaton, stops is Stops.VISIBLE
        case StreamProof(subject=subject) | RealProof(subject=subject):
            return subject, True
        case _:
            raise NoCertificate("it has no rules for such answers")


def _between(answer: BudgetAnswer) -> budgets.DearestInputs | None:
    """Return the inputs between which an answer knows of a loss as eps grows."""
    match answer:
        case RealProof(between=TwoInputs() as lost):
            names, output = [cell.name for cell in answer.subject.inputs], dict(answer.lost())
            points = lost.first, lost.second
            if lost.is_ray:
                points = lost.along(FAR), lost.along(FAR + 1)
            first, second = ({n: [q] for n, q in zip(names, p, strict=True)} for p in points)
            if lost.is_ray:
                grows = dict(zip(names, lost.change, strict=True))
                return budgets.DearestInputs(first, second, output, grows=grows)
            return budgets.DearestInputs(first, second, output, eps=lost.eps)
        case EndlessProof(analysis=Analysis(lower=WordBound() as lost)):
            name = (
                NEXT + answer.subject.inputs[0].name if isinstance(answer, StreamProof) else INPUT
            )
            return _of_word(_beyond(answer, lost), name)
        case _:
            return None


def _beyond(answer: EndlessProof, lost: WordBound) -> WordBound:
    """Return a word that loses more than the claimed budget, if its steps come again."""
    known = answer.analysis
    if answer.budget is None or known.quotient is None:
        return lost
    return beyond(known.quotient.graph, lost, answer.budget)


def _of_word(lost: WordBound, input: str) -> budgets.DearestInputs:
    """Return the inputs of a word, which is likelier at the second ones."""
    letters = ([each.second for each in lost.word], [each.first for each in lost.word])
    reads = ([a for a in own if a is not None] for own in letters)
    first, second = ({input: each} for each in reads)
    word: list[str | None] = []
    for step in lost.word:
        # A step of a program may publish several symbols, and end.
        said = step.seen.name.split(", ") if isinstance(step.seen, SeenSymbol) else [None]
        word += [each for each in said if each not in (SILENT, END)]
    return budgets.DearestInputs(first, second, {}, tuple(word))


FAR = 32  # steps along a ray, on which nearly all is lost that is lost in the end
TIMES = 5  # how often cycles are gone round, so that it is seen what comes again
MOST_RUNS = 4  # of a word with steps that come again: those that are tried


def _known_runs(answer: BudgetAnswer) -> tuple[budgets.KnownRun, ...]:
    """Return runs of an automaton that lose the most, or go round what comes again."""
    match answer:
        case AutomatonProof(analysis=Analysis(automaton=automaton, lower=RunCost() as dearest)) if (
            not answer.has_none
        ):
            return (_steps_of(automaton, dearest.run, dearest.changes),)
        case AutomatonProof(analysis=Analysis(automaton=automaton) as known) if answer.has_none:
            runs = list[tuple[Run, Changes]]()
            lower, structure = known.lower, known.structure
            if isinstance(lower, WordBound) and known.quotient is not None:
                runs += islice(runs_again(known.quotient.graph, lower, TIMES), MOST_RUNS)
            if structure is not None:
                runs.append(repeated(automaton, structure, TIMES))
            return tuple([_steps_of(automaton, *run) for run in runs])
        case _:
            return ()


def _steps_of(automaton: Automaton, run: Run, changes: Changes) -> budgets.KnownRun:
    steps = tuple([automaton.transitions[index] for index in run])
    reads = [c for c, step in zip(changes, steps, strict=True) if automaton.reads(step)]
    return budgets.KnownRun(steps, tuple(reads))
