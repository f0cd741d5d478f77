"""Programs that publish numbers: hockey-stick divergences of measures on the line and in space.

In: measures of what two inputs publish. Out: enclosures of divergences, and sets that attain them.
Read `hockey_stick` first, then `densities`.
"""
