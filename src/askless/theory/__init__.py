"""The paper's bounds as functions: one file a group of results, and `report` for all of them on one setting."""
