"""Episodes kept in a folder, to be viewed and scored again."""
