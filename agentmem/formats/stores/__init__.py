"""Readers of the stores that our own library keeps runs in, and what they share with the reader of its files."""
