"""Task suites: tasks, their setup hooks, checks and oracles."""
