"""Events as nested integrals, as in the DiPApprox paper.

In: an event of continuous samples. Out: a plan: normalised integrals in an order of little nesting,
and how their values are put together. Read `integral` first, then `optimizer`.
"""
