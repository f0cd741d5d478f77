"""Every verdict of the suite is replayed by the kernel, as far as its rules go.

What is asked with `proved` is replayed by whoever asks. No answer about a program at one eps is
replayed twice in a process: most of a proof is about its probabilities, whatever is claimed.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import pytest

from dipapprox import Answer, Claim, Decision, Limits, Options, Program, Verdict
from dipapprox.errors import EarlyEnd, NoCertificate
from dipapprox.kernel import errors, sets
from dipapprox.kernel.errors import Refused, Refuted
from dipapprox.language.domains import has_real_inputs
from dipapprox.limits import limited
from dipapprox.pairs.selections import PairSelection
from dipapprox.privacy import verifier
from dipapprox.privacy.decisions import decider
from dipapprox.privacy.decisions.decision import EXACT, DecisionQuestion
from dipapprox.privacy.run import Setting
from dipapprox.proof_steps import budgets, throughout, verdicts
from dipapprox.proof_steps.verdicts import goal_of
from dipapprox.proofs.budget_answer import BudgetAnswer
from dipapprox.proofs.replayed import proved_subject
from dipapprox.questions import prove
from tests.cases import THOROUGH

MOST_PROBABILITIES = 600
"""Inputs times outputs; larger verdicts are left to tests of their own."""

MOST_PARTS = 300
"""Sets that pairs of real inputs are cut into."""

MOST_WORK = errors.MOST_WORK if THOROUGH else 300_000
"""Of one step of a proof, in about microseconds."""

outcomes: Counter[str] = Counter()
"""How many verdicts were replayed, and how many not, by the reason."""

_said: set[tuple[Hashable, ...]] = set()
_found = verifier.verify
_decided = decider.decide


def replayed(setting: Setting, claim: Claim) -> Verdict:
    """Verify, and let the kernel confirm what is found, or refuse."""
    verdict, program, selection = _found(setting, claim), setting.program, setting.selection
    said = program, verdict.claim.eps, verdict.answer, selection
    if not setting.options.proved and _is_new(said):
        outcomes[_replay(program, verdict, selection)] += 1
    return verdict


def _is_new(said: tuple[Hashable, ...]) -> bool:
    """Whether something is said, and for the first time in this process."""
    if Answer.UNKNOWN in said or said in _said:
        return False
    _said.add(said)
    return True


def _replay(program: Program, verdict: Verdict, selection: PairSelection) -> str:
    if program.real_outputs:
        return "real numbers"
    if _is_large(program, verdict.run.outputs):
        return "large"
    with EarlyEnd() as end, quick():
        try:
            verdicts.replayed(Setting(program, selection, Options()), goal_of(verdict))
        except (NoCertificate, Refused) as outside:
            return str(outside)
        except Refuted:
            # A bound that is attained: closed forms tell, enclosures do not.
            if (
                verdict.delta_enclosure is not None
                and verdict.claim.delta in verdict.delta_enclosure
            ):
                return "attained"
            raise
        return "replayed"
    return end.reason or ""


@contextmanager
def quick() -> Iterator[None]:
    """Refuse what takes long to replay."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sets, "MOST_PARTS", MOST_PARTS)
        patch.setattr(errors, "MOST_WORK", MOST_WORK)
        yield


def _is_large(program: Program, outputs: int) -> bool:
    inputs = 1
    if not has_real_inputs(program):
        inputs = prod(len(cell.domain) for cell in program.inputs)
    return max(inputs, 1) * outputs > MOST_PROBABILITIES


def replayed_decision(setting: Setting, question: DecisionQuestion, *more: Any) -> Decision:
    """Decide, and let the kernel confirm what is found, or refuse."""
    decision, program = _decided(setting, question, *more), setting.program
    said = program, question, decision.answer, setting.selection
    if not setting.options.proved and _is_new(said):
        outcomes[_replay_decision(program, decision, setting.selection)] += 1
    return decision


def _replay_decision(program: Program, decision: Decision, selection: PairSelection) -> str:
    if decision.answer is Answer.DP and decision.engine != EXACT:
        return "enclosures on an interval"
    if _is_large(program, decision.run.outputs):
        return "large"
    with EarlyEnd() as end, quick():
        found = throughout.proved_throughout(Setting(program, selection, Options()), decision)
        if found.replayed is None:
            return f"decision: {found.reason}"
        return "replayed decisions"
    return end.reason or ""


# --- budgets -------------------------------------------------------------------------------------

MOST_STATES = 6
"""Of automata, and final states of programs: larger answers are left to tests of their own."""

_proved: dict[str, Callable[..., BudgetAnswer]] = {
    name: getattr(prove, name) for name in ("prove_automaton", "prove_rounds", "prove_real")
}


def _with_budget(name: str) -> Callable[..., BudgetAnswer]:
    def answered(*asked: Any, **how: Any) -> BudgetAnswer:
        """Find the least budget, and let the kernel confirm that it serves, or refuse."""
        answer = _proved[name](*asked, **how)
        # Where time is limited a test looks at that.
        limited = any(isinstance(each, Limits) and each.seconds is not None for each in asked)
        small = answer.answer is Answer.DP and answer.states <= MOST_STATES
        if small and not limited and _is_new((name, asked[0], answer.upper)):
            outcomes[_replay_budget(answer)] += 1
        return answer

    return answered


def _replay_budget(answer: BudgetAnswer) -> str:
    with EarlyEnd() as end, quick():
        try:
            bounds = budgets.BudgetBounds(answer.upper)
            with limited(Limits(states=100)):
                budgets.replayed(*proved_subject(answer), bounds)
        except (NoCertificate, Refused) as outside:
            return f"budget: {outside}"
        return "replayed budgets"
    return end.reason or ""


def pytest_configure() -> None:
    """From now on `verify`, `decide` and what `prove` asks are the functions above."""
    verifier.verify = replayed
    decider.decide = replayed_decision
    for name in _proved:
        setattr(prove, name, _with_budget(name))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many verdicts the kernel has replayed in this process."""
    for reason, count in outcomes.most_common(12):
        terminalreporter.write_line(f"kernel: {count} {reason}")
