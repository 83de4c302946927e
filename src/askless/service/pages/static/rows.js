// Keys on pages with rows: they move the browser's own focus, so that nothing has to be asked of the service.
// A row has `data-row`; in it are `data-open`, the button that opens it, and `data-select`, its box to tick.
const rows = {
  at: -1, // the place of the row that had the focus last
  last: null,
  ticked: 0, // when a row was last ticked by its key
  wanted: 0, // until when an answer is waited for that was asked for before the service had heard of the tick

  all() {
    return [...document.querySelectorAll("[data-row]")];
  },
  focus(place) {
    const row = rows.all()[place];
    row?.querySelector("[data-open]")?.focus();
    row?.scrollIntoView({ block: "nearest" });
  },
  click(selector, inside = document) {
    const found = inside?.querySelector(selector);
    if (!found) return false;
    found.click();
    return true;
  },
  answer() {
    return rows.click("[data-answer]:not([disabled])");
  },
  press(key) {
    const panel = document.querySelector(".q-dialog [data-panel]");
    if (panel) {
      if (document.querySelectorAll(".q-dialog").length > 1) return false;
      if (/^[1-9]$/.test(key)) return rows.click(`[data-offer="${key}"]`, panel);
      return key === "/" && rows.click("[data-another]", panel);
    }
    if (document.querySelector(".q-dialog, .q-menu")) return false;
    const shown = rows.all();
    const here = shown.findIndex((row) => row.contains(document.activeElement));
    const down = key === "j" || (key === "ArrowDown" && here >= 0);
    const up = key === "k" || (key === "ArrowUp" && here >= 0);
    if (down || up) {
      rows.focus(here < 0 ? 0 : Math.min(Math.max(here + (down ? 1 : -1), 0), shown.length - 1));
      return true;
    }
    if (key === "x" && here >= 0) {
      rows.click("[data-select]", shown[here]);
      rows.ticked = Date.now();
      rows.focus(here); // the box would keep the focus, and Enter would tick it again
      return true;
    }
    if (key === "a") {
      if (rows.answer()) return true;
      rows.wanted = rows.ticked + 5000;
      return true;
    }
    if (key === "/") {
      document.querySelector("input[data-search], [data-search] input")?.focus();
      return true;
    }
    return false;
  },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable]")) {
    const searching = event.target.closest("[data-search]");
    if (searching && event.key === "Escape") event.target.blur();
    if (searching && event.key === "Enter") {
      event.preventDefault(); // it would press the row that has the focus by then
      rows.focus(0);
    }
    return;
  }
  if (rows.press(event.key)) event.preventDefault();
});

document.addEventListener("focusin", (event) => {
  rows.last = event.target.closest?.("[data-row]") || null;
  rows.at = rows.last ? rows.all().indexOf(rows.last) : -1;
});

// An answer that was asked for too soon is given once the service knows what is ticked. A row that goes while it has the
// focus hands it to the one that comes into its place.
new MutationObserver(() => {
  if (rows.wanted > Date.now() && rows.answer()) rows.wanted = 0;
  if (rows.last && !rows.last.isConnected && document.activeElement === document.body) {
    rows.last = null;
    const shown = rows.all();
    if (shown.length) rows.focus(Math.min(rows.at, shown.length - 1));
  }
}).observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ["disabled"] });
