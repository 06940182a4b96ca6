"""Benchmarks: the step loop against a conventional one."""
