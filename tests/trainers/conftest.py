import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # press_suite

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))  # fake_suite
