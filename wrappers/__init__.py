"""Gymnasium wrappers for agents and trainers."""
