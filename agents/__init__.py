"""Agents that act in the environments."""
