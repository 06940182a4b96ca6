"""Which machines run now, and how their screens are looked at."""
