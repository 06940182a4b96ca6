"""Evaluation: checks on the final state and the verdict they add up to."""
