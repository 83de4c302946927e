// What the dashboard does in the browser: the words under the mouse, and the prices, which stay in this browser.
const dashboard = {
  // The lines that the service has given a point, as text: labels are what users wrote.
  said(points) {
    const found = [points].flat().map((point) => point.data?.said).find((said) => said);
    const [first, ...rest] = (found || "").split("\n");
    const box = document.createElement("div");
    for (const [tag, text] of [["strong", first], ["span", rest.join("\n")]]) {
      box.appendChild(document.createElement(tag)).textContent = text;
    }
    return box;
  },

  prices(desk) {
    try {
      return JSON.parse(localStorage.getItem(`askless prices ${desk}`)) || {};
    } catch {
      return {};
    }
  },
  keepPrices(desk, prices) {
    localStorage.setItem(`askless prices ${desk}`, JSON.stringify(prices));
  },
};
window.dashboard = dashboard;
