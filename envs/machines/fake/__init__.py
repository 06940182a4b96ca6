"""The fake machine: in memory, for tests and docs."""
