"""WONDERBREAD (arXiv:2406.13264): its published results, from the user's own copy of its repository."""
