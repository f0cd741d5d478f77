"""Many runs of the verifier: measurements and tables."""
