"""Python functions read by their syntax, and never run.

In: the text of a file, a function in it, its arguments. Out: what the function returns, with
everything that depends on inputs and samples asked of a path (`run`), and all paths joined to a
program (`paths`). Read `machine` first, then `expressions` and `statements`; `operators` says what
is computed with known values, `prelude` what Python's own functions do.

What is in no table here is refused at its line: a `SourceError` ends the path, and no function of
the user's can catch it. A `Raised` is an exception of the user's own.
"""
