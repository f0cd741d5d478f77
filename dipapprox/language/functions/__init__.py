"""Python functions read by their syntax, and never run.

In: the text of a file, a function in it, its arguments. Out: what the function returns, with
everything that depends on inputs and samples asked of a `world` (`machine.World`). Read `machine`
first, then `expressions` and `statements`; `operators` says what is computed with known values.

What is in no table here is refused at its line.
"""
