"""Pipelines: what many runs of programs and mechanisms cost together.

In: a pipeline. Out: intervals, curves and verdicts. Read `compose` first, then `pipeline` and
`programs`.
"""
