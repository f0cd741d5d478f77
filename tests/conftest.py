"""How Hypothesis runs: the same examples every time, on a busy machine too.

`pytest --hypothesis-profile=explore` tries others, ten times as many where a test does not say how
many; what fails is printed as a blob for `@reproduce_failure`.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    # Being slow is what other processes do to a test.
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile(
    "explore", settings.get_profile("repeatable"), derandomize=False, max_examples=1000
)
settings.load_profile("repeatable")
