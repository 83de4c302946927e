"""Labelled texts replayed with a simulated expert through policies and the plain alternatives to them."""
