"""All adjacent pairs: which there are, and the largest hockey-stick divergence among them.

In: the adjacency of a program and the probabilities of its outputs. Out: bounds of the largest δ
for an ε_prv, a pair and a set that attain it. Read `selections` and `divergence` first, then
`maximum`.
"""
