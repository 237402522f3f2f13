"""What is told about decisions: metrics, logs, the decision log and explanations."""
