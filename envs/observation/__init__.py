"""Observations: accessible elements, texts, and the screen as scripts see it."""
