"""The website's own kind of page, as a Django app."""
