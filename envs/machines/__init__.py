"""Machines: computers that can be started, snapshotted, restored and stopped."""
