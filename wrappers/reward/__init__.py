"""Wrappers that change the reward."""
