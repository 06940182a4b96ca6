"""The six kinds of task, each in a module."""
