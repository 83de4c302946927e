"""The paper's figures: one module a figure, each with the data behind it and the drawing of that data.

`catalogue` names them and writes their files; `style` is how they all look.
"""
