"""What lies in the machine's guest layout: the commands that upstream's scripts and its instructions call."""
