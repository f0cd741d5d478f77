"""Probabilities of events, enclosed.

In: events, a precision, an engine. Out: enclosures of their probabilities, or why there is none.
Read `methods` first, then `probability`; the engines are the folders `elimination`, `nested`,
`gaussian_rank` and `integers`.
"""
