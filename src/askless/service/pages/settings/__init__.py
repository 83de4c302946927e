"""The settings of a desk."""
