"""The controllers, each with all others around it, under virtual time."""
