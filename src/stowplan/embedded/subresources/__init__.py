"""What can be asked of an object beside reading and changing it: to be bound, evicted or scaled."""
