"""The process machine: processes on the host, without isolation."""
