"""Agents that ask a language model what to do: a client for any model, and the agents of the four papers."""
