// The buttons that zoom the map; the wheel and dragging are ECharts's own.
askless.zoomMap = (id, how) => {
  const chart = getElement(id)?.chart;
  if (!chart) return;
  const zooms = chart.getOption().dataZoom;
  const factor = { in: 0.6, out: 1 / 0.6 }[how];
  const batch = zooms.map(({ start, end }, dataZoomIndex) => {
    const middle = (start + end) / 2;
    const half = factor ? Math.min(50, ((end - start) / 2) * factor) : 50;
    const from = Math.max(0, Math.min(100 - 2 * half, middle - half));
    return { dataZoomIndex, start: from, end: from + 2 * half };
  });
  chart.dispatchAction({ type: "dataZoom", batch });
};
