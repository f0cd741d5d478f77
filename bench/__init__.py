"""Benchmarks: engines side by side, growth with N, memory and start-up (`make bench`).

    cases -> timed side by side or in processes of their own -> records -> JSON lines, table, plot

Nothing here decides a verdict, and no test depends on a time.
"""
