"""The engine for comparisons of samples, sums and numbers: sample after sample is integrated out.

In: events. Out: enclosures, from plans that are evaluated in a function algebra. Read `engine`
first, then `planning` and `plan`.
"""
