"""A rigorous verifier of differential privacy for programs with Gaussian and Laplace noise."""

from dipapprox.errors import LimitReached, SourceError, UserError
from dipapprox.language.core import Program
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.interface import parse, probabilities, verify
from dipapprox.privacy.options import Engine, Options
from dipapprox.privacy.probabilities import OutputDistribution, OutputProbability
from dipapprox.privacy.verdict import Answer, Verdict, Witness, WitnessRow

__all__ = [
    "Answer",
    "Claim",
    "Enclosure",
    "Engine",
    "LimitReached",
    "Limits",
    "NotEnclosed",
    "Options",
    "OutputDistribution",
    "OutputProbability",
    "Program",
    "SourceError",
    "UserError",
    "Verdict",
    "Witness",
    "WitnessRow",
    "parse",
    "probabilities",
    "verify",
]
