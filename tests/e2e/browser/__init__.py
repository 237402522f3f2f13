"""A real browser, the pages that attack with it, and the sites they come from."""
