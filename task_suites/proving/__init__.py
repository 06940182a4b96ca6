"""Theorem proving as text: a prover's REPL in place of a desktop."""
