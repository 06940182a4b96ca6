"""Reading and acting on accessible elements (AT-SPI over D-Bus)."""
