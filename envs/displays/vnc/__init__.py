"""A display behind a VNC server."""
