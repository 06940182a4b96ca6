"""Science software."""
