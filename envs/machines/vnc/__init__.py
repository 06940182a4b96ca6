"""The vnc machine: any desktop by its VNC address."""
