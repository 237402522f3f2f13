"""The shipped test kit: builders, fakes and the plugin check."""
