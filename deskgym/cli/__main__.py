"""``python -m deskgym.cli``, the same as ``deskgym``."""

import sys

from deskgym.cli.main import main

sys.exit(main())
