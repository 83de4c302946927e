"""One stream of queries with its policy, embedder and expert: embed, decide, record, learn, rebuild by replay."""
