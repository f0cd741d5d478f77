"""Functions of one real variable on panels, with proved errors.

In: laws, products, sums and convolutions of functions. Out: the same functions, sampled in doubles
or balls, with what they may be wrong by. Read `piecewise` first, what an engine needs; then
`float64`, and `balls` for any precision.
"""
