"""The labels: their answer texts and examples."""
