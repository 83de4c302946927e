"""Texts with their labels."""
