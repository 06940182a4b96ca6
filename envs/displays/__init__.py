"""Displays: how a screen is seen and driven."""
