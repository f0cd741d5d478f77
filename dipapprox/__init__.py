"""A rigorous verifier of differential privacy for programs with Gaussian and Laplace noise."""

from dipapprox.checking.check import check
from dipapprox.checking.result import CheckResult, Outcome
from dipapprox.errors import LimitReached, SourceError, UserError
from dipapprox.language.core import Program
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.privacy.certificate import Certificate, ProgramText
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.interface import (
    calibrate,
    certify,
    pair_distributions,
    parse,
    probabilities,
    profile,
    verify,
    verify_interval,
)
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.options import Engine, Options
from dipapprox.privacy.probabilities import OutputDistribution, OutputProbability
from dipapprox.privacy.profiles.calibration_result import Calibration
from dipapprox.privacy.profiles.loss import PairDistributions
from dipapprox.privacy.profiles.profile_result import (
    LeastBudget,
    LeastDelta,
    PrivacyCurve,
    RenyiProfile,
)
from dipapprox.privacy.profiles.question import AtBudget, AtDelta, AtOrders, OnCurve
from dipapprox.privacy.verdict import Answer, Verdict, Witness, WitnessRow

__all__ = [
    "Answer",
    "AtBudget",
    "AtDelta",
    "AtOrders",
    "Calibration",
    "Certificate",
    "CheckResult",
    "Claim",
    "Enclosure",
    "Engine",
    "IntervalVerdict",
    "LeastBudget",
    "LeastDelta",
    "LimitReached",
    "Limits",
    "NotEnclosed",
    "OnCurve",
    "Options",
    "Outcome",
    "OutputDistribution",
    "OutputProbability",
    "PairDistributions",
    "PrivacyCurve",
    "Program",
    "ProgramText",
    "RenyiProfile",
    "SourceError",
    "UserError",
    "Verdict",
    "Witness",
    "WitnessRow",
    "calibrate",
    "certify",
    "check",
    "pair_distributions",
    "parse",
    "probabilities",
    "profile",
    "verify",
    "verify_interval",
]
