"""Wrappers for reinforcement learning libraries."""
