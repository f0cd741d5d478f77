"""The reference engine: nested ball quadrature of the paper's integrals.

In: events. Out: enclosures; slow, and the oracle of all others. Read `engine` first, then
`evaluation`.
"""
