"""Importers: they read the task files of published benchmarks from a folder that the user names."""
