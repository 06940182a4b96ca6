"""The programs that tasks use: one folder each."""
