"""The HTTPS endpoints of a scheduler: health, metrics, configuration, debugging; behind delegated authentication."""
