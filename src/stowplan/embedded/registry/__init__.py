"""What happens to an object on its way into the store, and what can be done to it there. Start at `api`."""
