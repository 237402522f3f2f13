"""The flow of a pod from arrival to binding; owns no state and knows no plugin by name."""
