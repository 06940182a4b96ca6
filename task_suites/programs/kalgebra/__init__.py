"""KAlgebra: how it is started, read and judged."""
