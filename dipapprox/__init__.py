"""A rigorous verifier of differential privacy for programs with Gaussian and Laplace noise."""

from dipapprox.checking.check import check
from dipapprox.checking.result import CheckResult, Outcome
from dipapprox.errors import LimitReached, SourceError, UserError
from dipapprox.language.core import Program
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.privacy.certificate import Certificate, ProgramText
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.interface import certify, parse, probabilities, verify
from dipapprox.privacy.options import Engine, Options
from dipapprox.privacy.probabilities import OutputDistribution, OutputProbability
from dipapprox.privacy.verdict import Answer, Verdict, Witness, WitnessRow

__all__ = [
    "Answer",
    "Certificate",
    "CheckResult",
    "Claim",
    "Enclosure",
    "Engine",
    "LimitReached",
    "Limits",
    "NotEnclosed",
    "Options",
    "Outcome",
    "OutputDistribution",
    "OutputProbability",
    "Program",
    "ProgramText",
    "SourceError",
    "UserError",
    "Verdict",
    "Witness",
    "WitnessRow",
    "certify",
    "check",
    "parse",
    "probabilities",
    "verify",
]
