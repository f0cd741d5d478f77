"""Certificates are checked: everything that they state is derived again by another route.

    file -> digest, hash -> program -> paths of each concrete input -> trees of comparisons
         -> messages on panels -> distributions -> sums over pairs -> confirmed?

What is trusted: the reader and elaborator of programs (`language`), that of certificates
(`certificates`, json and msgspec), flint's ball arithmetic and the module that converts to and from
it (`numerics.precision`), Python's and numpy's integers, and the modules of this folder. What is
not used: symbolic execution, merging, events, canonical forms, integrals, the engines, their
caches, the enumeration of adjacent pairs and the divergence of `privacy`. The one exception:
inequalities of Gaussian samples in three or more directions, or of Gaussian among other samples
beyond comparisons of two sums, go to the engine `nested` in another order of integration and at
higher precision; `CheckResult.shared` says so when it happens.

Decisions for all ε of an interval rest on closed forms. Those are derived again from the same paths
and trees, by exact integration; every inequality that the claim needs is looked for among those
that the file proves, and each proof is examined in exact integers and balls (`decisions`). A claim
that is broken must have a meaning on all of its interval (`decisions.meaning`). Sums and products
are `exponentials`, plain arithmetic that the run uses as well.

Choices are paths of their own; that they are distributions is shown exactly (`weights`). Loops are
Markov chains, those about samples are followed round by round. Trees of comparisons are integrated
or summed by messages, anything else that is Laplace or integer noise region by region (`regions`).

For all values of real inputs a set of pairs is subdivided as the file says (`boxes`): of each part
δ is bounded by values and derivatives of integrals of the check's own, sums over equidistant points
whose distance to the integral is proved. No polynomial of the run is needed for it, nor believed.

Of programs that publish numbers every selected pair's δ is derived (`published`): by densities on
panels, or by moves of the noise, which a linear programme suggests and exact rationals confirm.

What is divided by is examined before anything is cancelled, in weights and in δ.

    refuted        something that the file states is false: its digest, its program's hash, a
                   probability, a sum, the number of pairs, the verdict, an input that is missing
    confirmed      everything it states is true, as far as the check's bits tell (more than the
                   file's), and what it records implies its verdict; where pure privacy holds with
                   equality, the check's own closed forms imply it (`touching`)
    not confirmed  the check ran into a limit, or what is recorded does not imply the verdict

A file that was changed and given a new digest is judged by what it says now: an enclosure that was
widened and still implies the verdict is still true.

Certificates of budgets of automata are examined by themselves (`budgets`): the text is read again,
families of cost vectors, flows along runs, rates of words and bad structures are looked at in exact
integers and rationals. Of `automata` only the model is used. A program with rounds is made into an
automaton as in the proof (`rounds`); `CheckResult.shared` says so. For real inputs at a fixed
number of them (`real_inputs`) all runs are followed with symbols for inputs, and shifts, flows and
rays are looked at in exact rationals; of `semantics`, that inequalities have an open set in common.

Certificates of compositions have the runs as masses on a grid (`compositions`): they are compared
with pairs of the check's own, multiplied in large integers, and read off. Nothing of `composition`
is used. Programs in them are followed as others are, for all of their inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial as partial_call
from typing import TYPE_CHECKING, assert_never

from dipapprox.certificates.budgets import CertificateAgainstBudget, CertificateOfBudget
from dipapprox.certificates.compositions import (
    CertificateAgainstComposition,
    CertificateOfComposition,
)
from dipapprox.certificates.digest import text_hash
from dipapprox.certificates.json_texts import read_json
from dipapprox.certificates.reading import (
    AnyCertificate,
    OfComposition,
    OfProgram,
    read_certificate,
)
from dipapprox.certificates.real_inputs import (
    CertificateAgainstRealInputs,
    CertificateOfRealInputs,
)
from dipapprox.certificates.services import CertificateAgainstService, CertificateOfService
from dipapprox.certificates.verdicts import CertificateOfDP, CertificateOfNotDP
from dipapprox.checking.distributions import NoBounds
from dipapprox.checking.evidence import examine
from dipapprox.checking.inputs import listed_pairs
from dipapprox.checking.partial_result import PartialResult
from dipapprox.checking.programs import read_program
from dipapprox.checking.result import AnyClaim, CheckResult
from dipapprox.checking.rounded_scales import examine_rounded
from dipapprox.checking.values import Stuck
from dipapprox.deferred import Deferred
from dipapprox.errors import NO_MEMORY, BrokenInvariant, LimitReached, UserError
from dipapprox.language.core import Program
from dipapprox.limits import Limits, limited
from dipapprox.numerics.rounding import sound_arithmetic
from dipapprox.pairs.selections import AllPairs, OrderedPairs
from dipapprox.privacy.scope import Scope, scope_of
from dipapprox.privacy.verdict import Answer
from dipapprox.replays.result import FORMAT, Outcome, Replay, is_pipeline_proof

if TYPE_CHECKING:
    from dipapprox.checking.budgets import examine as budgets
    from dipapprox.checking.compositions import examine as compositions
    from dipapprox.checking.real_inputs import examine as real_inputs
    from dipapprox.checking.services import examine as services
    from dipapprox.replays import check as replays
    from dipapprox.replays import pipelines
else:
    budgets = Deferred("dipapprox.checking.budgets.examine")
    compositions = Deferred("dipapprox.checking.compositions.examine")
    real_inputs = Deferred("dipapprox.checking.real_inputs.examine")
    services = Deferred("dipapprox.checking.services.examine")
    replays = Deferred("dipapprox.replays.check")
    pipelines = Deferred("dipapprox.replays.pipelines")


def check(
    certificate: str | Mapping[str, object],
    limits: Limits | None = None,
    *,
    explained: bool = False,
) -> CheckResult | Replay:
    """Check a certificate.

    Args:
        certificate: The text of the file, or its JSON object.
        limits: Budgets; when one is reached the answer is "not confirmed".
        explained: Whether people see every step of a proof.

    Returns:
        What the kernel says of a proof; a `CheckResult` for certificates of other kinds.

    Raises:
        UserError: If it is no certificate, of another version, or malformed.
    """
    if not isinstance(certificate, str | Mapping):
        hint = "check(path.read_text()) checks a file"
        message = f"certificate must be a text or an object, got {type(certificate).__name__}"
        raise UserError(message, hint)
    limits = Limits() if limits is None else limits
    if not isinstance(limits, Limits):
        raise UserError(f"limits must be Limits, got {type(limits).__name__}")
    content = read_json(certificate) if isinstance(certificate, str) else certificate
    if isinstance(content, Mapping) and content.get("format") == FORMAT:
        return replays.check_proof(content, limits, explained)
    if is_pipeline_proof(content):
        return pipelines.check_pipeline(content, limits, explained)
    record, own_digest = read_certificate(certificate)
    claim = _claim(record)
    partial = PartialResult()
    scope: Scope | None = None
    reason: str | None = None
    try:
        with limited(limits):
            if _is_whole(record, own_digest, partial):
                match record:
                    case CertificateOfBudget() | CertificateAgainstBudget():
                        budgets.examine_budget(record, partial, limits)  # exact numbers
                    case CertificateOfRealInputs() | CertificateAgainstRealInputs():
                        real_inputs.examine_real_inputs(record, partial, limits)  # rationals
                    case _:
                        scope = _examine_numbers(record, claim, partial, limits)
    except LimitReached as limit:
        reason = limit.reason
    except MemoryError:
        reason = NO_MEMORY
    except (NoBounds, Stuck) as obstacle:
        reason = str(obstacle)
    if partial.differences:
        outcome, reason = Outcome.REFUTED, None
    else:
        reason = reason or partial.reason
        outcome = Outcome.CONFIRMED if reason is None else Outcome.NOT_CONFIRMED
    return CheckResult(
        outcome=outcome,
        differences=tuple(partial.differences),
        reason=reason,
        program=_name(record),
        parameters=_parameters(record),
        scope=scope,
        claim=claim,
        answer=_ANSWERS[record.verdict],
        pairs=partial.pairs,
        sets=partial.sets,
        inputs=partial.inputs,
        delta_enclosure=partial.delta,
        precision=partial.bits,
        shared=tuple(partial.shared),
        seconds=limits.elapsed(),
    )


@sound_arithmetic()
def _examine_numbers(
    record: AnyCertificate, claim: AnyClaim, partial: PartialResult, limits: Limits
) -> Scope | None:
    """Examine what rests on numbers of the machine; return what a certificate is about."""
    match record:
        case CertificateOfService() | CertificateAgainstService():
            services.examine_service(record, partial, limits)
        case CertificateOfComposition() | CertificateAgainstComposition():
            compositions.examine_composition(record, partial, limits)
        case CertificateOfDP() | CertificateOfNotDP():
            return _examine_program(record, claim, partial, limits)
        case _:
            raise BrokenInvariant("the certificate is examined in exact numbers")
    return None


_ANSWERS = {each.value: each for each in Answer}


def _name(record: AnyCertificate) -> str:
    """What the certificate is about, in a word."""
    if not isinstance(record, OfComposition):
        return record.program.name
    return f"{sum(run.times for run in record.runs)} runs"


def _parameters(record: AnyCertificate) -> Mapping[str, Fraction]:
    match record:
        case CertificateOfBudget() | CertificateAgainstBudget():
            return record.program.params
        case CertificateOfComposition() | CertificateAgainstComposition():
            return {}
        case _:
            return record.params


def _claim(record: AnyCertificate) -> AnyClaim:
    match record:
        case CertificateOfDP() | CertificateOfNotDP():
            return record.claim
        case CertificateOfBudget() | CertificateAgainstBudget():
            return budgets.claim_of(record)
        case CertificateOfRealInputs() | CertificateAgainstRealInputs():
            return real_inputs.claim_of_real_inputs(record)
        case CertificateOfService() | CertificateAgainstService():
            return services.claim_of_service(record)
        case CertificateOfComposition() | CertificateAgainstComposition():
            return compositions.claim_of_composition(record)
        case _:
            assert_never(record)


def _is_whole(record: AnyCertificate, own_digest: str, partial: PartialResult) -> bool:
    """Compare the digest and the hash."""
    if own_digest != record.digest:
        partial.differ("digest", "the file was changed after it was written")
    elif isinstance(record, OfComposition):
        pass
    elif text_hash(record.program.text) != record.program.sha256:
        partial.differ("program.sha256", "it is not the hash of the program's text")
    return not partial.differences


def _examine_program(
    record: OfProgram,
    claim: AnyClaim,
    partial: PartialResult,
    limits: Limits,
) -> Scope | None:
    """Examine what is stated of a program; return what the certificate is about."""
    judged = isinstance(record, CertificateOfDP | CertificateOfNotDP)
    program = read_program(
        record.program, record.params, record.widening, partial, irrational=judged
    )
    scope = None if program is None else _scope(record, program, partial)
    if program is None or scope is None:
        return None
    match record:
        case CertificateOfDP() | CertificateOfNotDP() if program.rounding is not None:
            within = partial_call(examine, limits=limits)
            examine_rounded(record, program, partial, within)
        case CertificateOfDP() | CertificateOfNotDP():
            examine(record, program, partial, limits)
        case _:
            assert_never(record)
    return scope


def _scope(record: OfProgram, program: Program, partial: PartialResult) -> Scope | None:
    """Say what the certificate is about, and compare what it says itself; None if it lists inputs
    that are none."""
    try:
        listed = listed_pairs(record.pairs, program)
    except UserError as error:
        partial.differ("pairs.list", error.message)
        return None
    scope = scope_of(program, AllPairs() if listed is None else OrderedPairs(tuple(listed)))
    if record.scope != scope.text:
        partial.differ("scope", f"the certificate is {scope.text}")
    if record.caveat != scope.caveat:
        partial.differ("caveat", scope.caveat or "there is none")
    return scope
