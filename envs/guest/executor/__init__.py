"""Code actions: forks of a warm interpreter."""
