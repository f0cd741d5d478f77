"""A rigorous verifier of differential privacy for programs with Gaussian and Laplace noise.

In: programs, as text, files or functions, and questions about them. Out: answers, proved. The names
are loaded when they are first used: the command line starts with what it needs. Read `questions`
first for what can be asked, `semantics` for what a program means, `privacy` for how a claim is
proved, `kernel` for what a proof rests on.
"""

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which would take longer to load than all the rest here

if TYPE_CHECKING:
    from dipapprox.arithmetic.enclosure import Enclosure as Enclosure
    from dipapprox.arithmetic.enclosure import NotEnclosed as NotEnclosed
    from dipapprox.errors import LimitReached as LimitReached
    from dipapprox.errors import SourceError as SourceError
    from dipapprox.errors import UserError as UserError
    from dipapprox.language.core import Program as Program
    from dipapprox.language.functions.noise import argmax as argmax
    from dipapprox.language.functions.noise import argmin as argmin
    from dipapprox.language.functions.noise import choose as choose
    from dipapprox.language.functions.noise import clamp as clamp
    from dipapprox.language.functions.noise import discrete_gauss as discrete_gauss
    from dipapprox.language.functions.noise import discrete_laplace as discrete_laplace
    from dipapprox.language.functions.noise import exp as exp
    from dipapprox.language.functions.noise import exponential_mechanism as exponential_mechanism
    from dipapprox.language.functions.noise import gauss as gauss
    from dipapprox.language.functions.noise import gumbel as gumbel
    from dipapprox.language.functions.noise import gumbel_minus as gumbel_minus
    from dipapprox.language.functions.noise import laplace as laplace
    from dipapprox.language.functions.noise import laplace_minus as laplace_minus
    from dipapprox.language.functions.noise import laplace_plus as laplace_plus
    from dipapprox.language.functions.noise import log as log
    from dipapprox.language.functions.noise import logistic as logistic
    from dipapprox.language.functions.noise import maximum as maximum
    from dipapprox.language.functions.noise import minimum as minimum
    from dipapprox.language.functions.noise import rounded as rounded
    from dipapprox.language.functions.noise import sqrt as sqrt
    from dipapprox.language.functions.noise import where as where
    from dipapprox.language.functions.symbols import Condition as Condition
    from dipapprox.language.functions.symbols import Quantity as Quantity
    from dipapprox.language.functions.symbols import Weight as Weight
    from dipapprox.language.load import OpenProgram as OpenProgram
    from dipapprox.language.mechanism import Mechanism as Mechanism
    from dipapprox.language.mechanism import mechanism as mechanism
    from dipapprox.limits import Limits as Limits
    from dipapprox.privacy.compositions.compose import Composed as Composed
    from dipapprox.privacy.compositions.pipeline import ComposedAnswer as ComposedAnswer
    from dipapprox.privacy.compositions.pipeline import ComposedCurve as ComposedCurve
    from dipapprox.privacy.decisions.decision import Decision as Decision
    from dipapprox.privacy.decisions.decision import Violation as Violation
    from dipapprox.privacy.description import Certificate as Certificate
    from dipapprox.privacy.description import ProgramText as ProgramText
    from dipapprox.privacy.intervals.verdict import IntervalVerdict as IntervalVerdict
    from dipapprox.privacy.masses import OutputProbability as OutputProbability
    from dipapprox.privacy.probabilities import OutputDistribution as OutputDistribution
    from dipapprox.privacy.probabilities import PairDistributions as PairDistributions
    from dipapprox.privacy.profiles.calibration import Calibration as Calibration
    from dipapprox.privacy.profiles.profile_result import LeastDelta as LeastDelta
    from dipapprox.privacy.profiles.profile_result import LeastEpsPrv as LeastEpsPrv
    from dipapprox.privacy.profiles.profile_result import PrivacyCurve as PrivacyCurve
    from dipapprox.privacy.profiles.profile_result import RenyiProfile as RenyiProfile
    from dipapprox.privacy.run import Engine as Engine
    from dipapprox.privacy.run import Options as Options
    from dipapprox.privacy.run import Witness as Witness
    from dipapprox.privacy.run import WitnessRow as WitnessRow
    from dipapprox.privacy.verdict import Answer as Answer
    from dipapprox.privacy.verdict import Claim as Claim
    from dipapprox.privacy.verdict import Verdict as Verdict
    from dipapprox.proofs.endless_proof import AutomatonProof as AutomatonProof
    from dipapprox.proofs.endless_proof import StreamProof as StreamProof
    from dipapprox.proofs.real_proof import RealProof as RealProof
    from dipapprox.questions.certifying import certify as certify
    from dipapprox.questions.interface import assert_private as assert_private
    from dipapprox.questions.interface import decide as decide
    from dipapprox.questions.interface import pair_distributions as pair_distributions
    from dipapprox.questions.interface import parse as parse
    from dipapprox.questions.interface import probability as probability
    from dipapprox.questions.interface import verify as verify
    from dipapprox.questions.pipelines import compose as compose
    from dipapprox.questions.profile import calibrate as calibrate
    from dipapprox.questions.profile import profile as profile
    from dipapprox.questions.prove import prove as prove
    from dipapprox.replays.check import check as check
    from dipapprox.replays.result import Outcome as Outcome
    from dipapprox.replays.result import Replay as Replay
    from dipapprox.services.service_proof import ServiceProof as ServiceProof

_HOMES = {
    "arithmetic.enclosure": "Enclosure NotEnclosed",
    "errors": "LimitReached SourceError UserError",
    "language.core": "Program",
    "language.mechanism": "Mechanism mechanism",
    "language.functions.noise": (
        "argmax argmin choose clamp discrete_gauss discrete_laplace exp exponential_mechanism "
        "gauss gumbel gumbel_minus laplace laplace_minus laplace_plus log logistic maximum "
        "minimum rounded sqrt where"
    ),
    "language.functions.symbols": "Condition Quantity Weight",
    "language.load": "OpenProgram",
    "limits": "Limits",
    "privacy.compositions.compose": "Composed",
    "privacy.compositions.pipeline": "ComposedAnswer ComposedCurve",
    "privacy.decisions.decision": "Decision Violation",
    "privacy.intervals.verdict": "IntervalVerdict",
    "privacy.masses": "OutputProbability",
    "privacy.probabilities": "OutputDistribution PairDistributions",
    "privacy.profiles.calibration": "Calibration",
    "privacy.profiles.profile_result": "LeastDelta LeastEpsPrv PrivacyCurve RenyiProfile",
    "privacy.description": "Certificate ProgramText",
    "privacy.run": "Engine Options Witness WitnessRow",
    "privacy.verdict": "Answer Claim Verdict",
    "proofs.endless_proof": "AutomatonProof StreamProof",
    "proofs.real_proof": "RealProof",
    "questions.certifying": "certify",
    "questions.interface": "assert_private decide pair_distributions parse probability verify",
    "questions.pipelines": "compose",
    "questions.profile": "calibrate profile",
    "questions.prove": "prove",
    "replays.check": "check",
    "replays.result": "Outcome Replay",
    "services.service_proof": "ServiceProof",
}
"""Where the public names live, the same as above."""

_HOME_OF = {name: f"dipapprox.{home}" for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    """Load a public name (PEP 562)."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dipapprox' has no attribute {name!r}")
    found: object = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
