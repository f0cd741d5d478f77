"""What final states mean at an input: events over independent samples, simplified and counted once.

In: final states, ε, and an input or all. Out: events in a normal form that many states and inputs
share; for published numbers a measure an outcome. Read `event` first, then `catalogue` and
`canonical`.
"""
