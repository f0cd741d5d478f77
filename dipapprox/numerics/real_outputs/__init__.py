"""Programs that publish numbers: hockey-stick divergences of measures on the line and in space."""
