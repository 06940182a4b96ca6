"""Wrappers that change what an action is."""
