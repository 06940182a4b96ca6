"""The parts of DesktopVectorEnv: workers, their clients, and memory that they share."""
