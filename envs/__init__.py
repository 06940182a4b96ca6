"""Environments: the Gymnasium env, machines, displays, the guest and evaluation."""
