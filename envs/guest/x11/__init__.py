"""The X server: input, the framebuffer, settling, windows."""
