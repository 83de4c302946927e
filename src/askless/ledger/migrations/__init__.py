"""How a ledger of an older askless becomes one of this: one file for each version of the schema, run by Alembic."""
