"""The table analysis suite: interactive data analysis in dialogues, without a display."""
