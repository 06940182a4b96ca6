"""Machines that are ready for a task: manager, warm pool, snapshot cache, start slots."""
