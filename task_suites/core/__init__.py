"""Tasks, templates, task files and suites."""
