"""Actions: their forms, their spaces, and masks of what can be done now."""
