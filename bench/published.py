"""Published times, to stand beside ours. Seconds; None where there was no answer.

References:
    DiPApprox (CCS 2025, long version), Tables 6 and 7: 1.4 GHz quad-core Intel Core i5, 8 GB,
    mean of three runs, limit 600 s. eps 0.5, delta 0.01, eps_prv 1.24 for SVT with Gaussian noise.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.cases import AnyCase, Case
from dipapprox.privacy.options import FIRST_PRECISION


@dataclass(frozen=True, slots=True)
class Published:
    """What the papers' tables say, and what the published tool did on two cores like ours.

    Attributes:
        printed: Seconds in the table, or why there are none.
        repeated: The same tool run again on a 2-core server; None if it was not.
    """

    printed: float | str
    repeated: float | str | None = None


_TIMEOUT, _MEMORY = "timeout (600 s)", "out of memory"

_ONE_PAIR: dict[tuple[str, int], Published] = {
    ("svt_gauss", 5): Published(7.9),
    ("svt_gauss", 25): Published(441.3, 402.0),
    ("svt_laplace", 5): Published(47.6),
    ("svt_mix1", 5): Published(19.5),
    ("svt_mix2", 5): Published(72.2),
    ("noisy_max_gauss", 3): Published(1.6),
    ("noisy_max_gauss", 4): Published(37.8, 26.0),
    ("noisy_max_gauss", 5): Published(_TIMEOUT, _TIMEOUT),
    ("noisy_max_laplace", 4): Published(_TIMEOUT),
    ("noisy_min_gauss", 4): Published(36.8),
    ("k_min_max_gauss", 3): Published(2.1),
    ("k_min_max_gauss", 4): Published(41.2, 48.0),
    ("m_range_gauss", 1): Published(1.5),
    ("m_range_gauss", 2): Published(171.2, 126.0),
    ("m_range_gauss", 3): Published(_TIMEOUT),
}

_ALL_PAIRS: dict[tuple[str, int], Published] = {
    ("svt_gauss", 5): Published(76.7, 77.0),
    ("svt_gauss", 25): Published(_MEMORY),
    ("noisy_max_gauss", 4): Published(303.0),
    ("k_min_max_gauss", 4): Published(335.7),
    ("m_range_gauss", 2): Published(344.4),
    ("m_range_gauss", 3): Published(_TIMEOUT),
}


def published(case: AnyCase) -> Published | None:
    """Return the published times of a case, if there are any."""
    if not isinstance(case, Case) or case.bits != FIRST_PRECISION:
        return None
    return (_ALL_PAIRS if case.all_pairs else _ONE_PAIR).get((case.program, case.n))
