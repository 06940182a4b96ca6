"""The one migration."""
