"""One chart on the dashboard: its title, what it says, the drawing, and its numbers as a table and as a file."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments, GenericEventArguments

from askless.service.pages.dashboard.tables import Chart
from askless.service.pages.parts import link, words

_LINKED = '<q-td :props="props"><a :href="props.row.link">{{ props.value }}</a></q-td>'


class ChartCard:
    """A chart that can be shown anew without being built anew: what the mouse is on stays under it."""

    def __init__(self, chart: Chart, file: str) -> None:
        self._chart = chart
        self._table: ui.table | None = None
        with ui.element("section").classes("card chart"):
            words("h2", chart.title)
            self._says = words("p", chart.says).classes("soft")
            self._drawn = ui.echart(chart.options, self._clicked if chart.links else None, renderer="svg")
            self._drawn.props["role"] = "img"
            self._describe()
            with ui.element("details") as self._details:
                words("summary", "Show as table")
                self._box = ui.element("div").classes("numbers").props("role=region tabindex=0")
                self._box.props["aria-label"] = f"{chart.title}: numbers"
            self._details.on("toggle", self._toggled, js_handler="(event) => emit(event.target.open)")
            saved = link("Download as CSV", file).classes("file")
            saved.props["download"] = ""
            saved.props["aria-label"] = f"Download as CSV: {chart.title}"

    def show(self, chart: Chart) -> None:
        """The chart as it is by now."""
        before, self._chart = self._chart, chart
        if chart.says != before.says:
            self._says.set_text(chart.says)
            self._describe()
        if chart.options != before.options:
            self._drawn.props["options"] = chart.options
        if chart.rows != before.rows and self._table is not None:
            self._table.rows = self._rows()

    def _describe(self) -> None:
        self._drawn.props["aria-label"] = f"{self._chart.title}: a chart. {self._chart.says}"

    def _clicked(self, event: EChartPointClickEventArguments) -> None:
        if event.data_index < len(self._chart.links):
            ui.navigate.to(self._chart.links[event.data_index])

    def _toggled(self, event: GenericEventArguments) -> None:
        """The table is made when it is first wanted: it may have hundreds of rows."""
        if not event.args:
            self._box.clear()
            self._table = None
        elif self._table is None:
            with self._box:
                self._table = self._make_table()

    def _make_table(self) -> ui.table:
        columns = [
            {"name": c.name, "label": c.heading, "field": c.name, "align": "right" if k else "left"}
            for k, c in enumerate(self._chart.columns)
        ]
        table = ui.table(columns=columns, rows=self._rows(), row_key="row").props("flat dense hide-pagination")
        table.props["aria-label"] = self._chart.title
        if self._chart.links:
            table.add_slot(f"body-cell-{self._chart.columns[0].name}", _LINKED)
        return table

    def _rows(self) -> list[dict[str, Any]]:
        chart, found = self._chart, []
        for k, row in enumerate(chart.rows):
            cells = {column.name: column.shown(value) for column, value in zip(chart.columns, row, strict=True)}
            found.append({"row": k, **cells, **({"link": chart.links[k]} if chart.links else {})})
        return found
