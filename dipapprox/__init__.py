"""A rigorous verifier of differential privacy for programs with Gaussian and Laplace noise.

In: programs, as text, files or functions, and questions about them. Out: answers, proved. The names
are loaded when they are first used: the command line starts with what it needs. Read `questions`
first for what can be asked, `semantics` for what a program means, `privacy` for how a claim is
proved, `kernel` for what a proof rests on.
"""

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which would take longer to load than all the rest here

if TYPE_CHECKING:
    from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
    from dipapprox.errors import LimitReached, SourceError, UserError
    from dipapprox.language.core import Program
    from dipapprox.language.functions.mechanism import Mechanism, mechanism
    from dipapprox.language.functions.noise import (
        argmax,
        argmin,
        choose,
        clamp,
        discrete_gauss,
        discrete_laplace,
        exp,
        exponential_mechanism,
        gauss,
        gumbel,
        gumbel_minus,
        laplace,
        laplace_minus,
        laplace_plus,
        log,
        logistic,
        maximum,
        minimum,
        rounded,
        sqrt,
        where,
    )
    from dipapprox.language.functions.symbols import Condition, Quantity, Weight
    from dipapprox.language.load import OpenProgram
    from dipapprox.limits import Limits
    from dipapprox.privacy.certificate import Certificate, ProgramText
    from dipapprox.privacy.claim import Claim
    from dipapprox.privacy.compositions.compose import Composed
    from dipapprox.privacy.compositions.pipeline import ComposedAnswer, ComposedCurve
    from dipapprox.privacy.decisions.decision import Decision, Violation
    from dipapprox.privacy.intervals.verdict import IntervalVerdict
    from dipapprox.privacy.masses import OutputProbability
    from dipapprox.privacy.options import Engine, Options
    from dipapprox.privacy.probabilities import OutputDistribution
    from dipapprox.privacy.profiles.calibration import Calibration
    from dipapprox.privacy.profiles.loss import PairDistributions
    from dipapprox.privacy.profiles.profile_result import (
        LeastDelta,
        LeastEpsPrv,
        PrivacyCurve,
        RenyiProfile,
    )
    from dipapprox.privacy.run import Witness, WitnessRow
    from dipapprox.privacy.verdict import Answer, Verdict
    from dipapprox.proofs.automaton_proof import AutomatonProof, StreamProof
    from dipapprox.proofs.real_proof import RealProof
    from dipapprox.questions.certifying import certify
    from dipapprox.questions.interface import (
        assert_private,
        decide,
        pair_distributions,
        parse,
        probability,
        verify,
    )
    from dipapprox.questions.pipelines import compose
    from dipapprox.questions.profile import calibrate, profile
    from dipapprox.questions.prove import prove
    from dipapprox.replays.any_file import check
    from dipapprox.replays.result import Outcome, Replay
    from dipapprox.services.service_proof import ServiceProof

_HOMES = {
    "dipapprox.errors": ("LimitReached", "SourceError", "UserError"),
    "dipapprox.language.core": ("Program",),
    "dipapprox.language.load": ("OpenProgram",),
    "dipapprox.language.functions.mechanism": ("Mechanism", "mechanism"),
    "dipapprox.language.functions.noise": (
        "argmax",
        "argmin",
        "choose",
        "clamp",
        "discrete_gauss",
        "discrete_laplace",
        "exp",
        "exponential_mechanism",
        "gauss",
        "gumbel",
        "gumbel_minus",
        "laplace",
        "laplace_minus",
        "laplace_plus",
        "log",
        "logistic",
        "maximum",
        "minimum",
        "rounded",
        "sqrt",
        "where",
    ),
    "dipapprox.language.functions.symbols": ("Condition", "Quantity", "Weight"),
    "dipapprox.limits": ("Limits",),
    "dipapprox.arithmetic.enclosure": ("Enclosure", "NotEnclosed"),
    "dipapprox.privacy.certificate": ("Certificate", "ProgramText"),
    "dipapprox.privacy.claim": ("Claim",),
    "dipapprox.privacy.compositions.compose": ("Composed",),
    "dipapprox.privacy.compositions.pipeline": ("ComposedAnswer", "ComposedCurve"),
    "dipapprox.privacy.decisions.decision": ("Decision", "Violation"),
    "dipapprox.privacy.intervals.verdict": ("IntervalVerdict",),
    "dipapprox.privacy.options": ("Engine", "Options"),
    "dipapprox.privacy.masses": ("OutputProbability",),
    "dipapprox.privacy.probabilities": ("OutputDistribution",),
    "dipapprox.privacy.profiles.calibration": ("Calibration",),
    "dipapprox.privacy.profiles.loss": ("PairDistributions",),
    "dipapprox.privacy.profiles.profile_result": (
        "LeastDelta",
        "LeastEpsPrv",
        "PrivacyCurve",
        "RenyiProfile",
    ),
    "dipapprox.privacy.run": ("Witness", "WitnessRow"),
    "dipapprox.privacy.verdict": ("Answer", "Verdict"),
    "dipapprox.proofs.automaton_proof": ("AutomatonProof", "StreamProof"),
    "dipapprox.proofs.real_proof": ("RealProof",),
    "dipapprox.questions.certifying": ("certify",),
    "dipapprox.questions.interface": (
        "assert_private",
        "decide",
        "pair_distributions",
        "parse",
        "probability",
        "verify",
    ),
    "dipapprox.questions.pipelines": ("compose",),
    "dipapprox.questions.profile": ("calibrate", "profile"),
    "dipapprox.questions.prove": ("prove",),
    "dipapprox.replays.any_file": ("check",),
    "dipapprox.replays.result": ("Outcome", "Replay"),
    "dipapprox.services.service_proof": ("ServiceProof",),
}
"""Where the public names live, the same as above."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Answer",
    "AutomatonProof",
    "Calibration",
    "Certificate",
    "Claim",
    "Composed",
    "ComposedAnswer",
    "ComposedCurve",
    "Condition",
    "Decision",
    "Enclosure",
    "Engine",
    "IntervalVerdict",
    "LeastDelta",
    "LeastEpsPrv",
    "LimitReached",
    "Limits",
    "Mechanism",
    "NotEnclosed",
    "OpenProgram",
    "Options",
    "Outcome",
    "OutputDistribution",
    "OutputProbability",
    "PairDistributions",
    "PrivacyCurve",
    "Program",
    "ProgramText",
    "Quantity",
    "RealProof",
    "RenyiProfile",
    "Replay",
    "ServiceProof",
    "SourceError",
    "StreamProof",
    "UserError",
    "Verdict",
    "Violation",
    "Weight",
    "Witness",
    "WitnessRow",
    "argmax",
    "argmin",
    "assert_private",
    "calibrate",
    "certify",
    "check",
    "choose",
    "clamp",
    "compose",
    "decide",
    "discrete_gauss",
    "discrete_laplace",
    "exp",
    "exponential_mechanism",
    "gauss",
    "gumbel",
    "gumbel_minus",
    "laplace",
    "laplace_minus",
    "laplace_plus",
    "log",
    "logistic",
    "maximum",
    "mechanism",
    "minimum",
    "pair_distributions",
    "parse",
    "probability",
    "profile",
    "prove",
    "rounded",
    "sqrt",
    "verify",
    "where",
]


def __getattr__(name: str) -> object:
    """Load a public name (PEP 562)."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dipapprox' has no attribute {name!r}")
    found: object = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
