"""HTTP for the API: bytes to requests, answers to bytes, who may come in, and how long anybody may take."""
