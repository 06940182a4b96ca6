"""Science software: KAlgebra so far."""
