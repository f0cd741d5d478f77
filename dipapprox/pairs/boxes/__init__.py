"""Sets of pairs with real inputs, by branch and bound.

In: domains such as real 0..1, and probabilities as functions of inputs. Out: bounds of the largest
δ of infinitely many pairs. Read `search` first, then `cells` and `bounds`.
"""
