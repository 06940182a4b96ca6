"""Kernels: a Python interpreter that keeps its variables from one cell to the next."""
