"""Wrappers that change what is observed."""
