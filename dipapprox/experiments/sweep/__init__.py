"""Sweeps: a grid of cases, run in child processes with limits, one line of results each.

In: a spec in TOML. Out: a file of results that an interrupted sweep goes on with, and what it
shows. Read `sweep` first, then `spec` and `pool`.
"""
