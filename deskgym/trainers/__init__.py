"""Adapters to trainers of language models: ``trl`` and ``trl_tables`` for TRL's GRPO, ``openenv`` for OpenEnv servers.

Importing this package imports neither library.
"""
