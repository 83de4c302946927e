"""The paper's tables, run again and set beside its figures."""
