"""Sweeps: a grid of cases, run in child processes with limits, one line of results each."""
