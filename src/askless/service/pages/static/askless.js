// What the pages do in the browser themselves: the theme, the login's session, keys, and keeping what was typed.
// Everything else is done by the service.
const askless = {
  call(method, path, body) {
    const headers = { "X-Requested-With": "askless" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    return fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  },

  async logOut() {
    await askless.call("DELETE", "/api/v1/session").catch(() => undefined);
    sessionStorage.clear();
    location.assign("/login");
  },

  // Where the pages of a desk do not fit beside each other, the one that is open is in sight.
  showPlace() {
    document.querySelector(".place.here")?.scrollIntoView({ inline: "center", block: "nearest" });
  },

  setTheme(chosen) {
    const year = 365 * 24 * 3600;
    document.cookie = `askless_theme=${chosen}; path=/; max-age=${chosen === "auto" ? 0 : year}; samesite=strict`;
    location.reload();
  },

  // What was typed is kept in this tab until it was sent, so that a restart of the service loses nothing.
  // Fields take part by a `data-keep` attribute, which names what is typed there.
  kept(name) {
    return sessionStorage.getItem(`askless ${name}`) || "";
  },
  keptUnder(start) {
    const found = {};
    for (const key of Object.keys(sessionStorage)) {
      if (key.startsWith(`askless ${start} `)) found[key.slice(`askless ${start} `.length)] = sessionStorage[key];
    }
    return found;
  },
  keep(name, text) {
    if (text) sessionStorage.setItem(`askless ${name}`, text);
    else sessionStorage.removeItem(`askless ${name}`);
  },

  // Puts the caret where it was when the page went: who types on at once does so in the field they were in.
  typeOn() {
    for (const field of document.querySelectorAll("input, textarea")) {
      if (field.closest("[data-keep]")?.dataset.keep !== askless.kept("typing")) continue;
      field.focus();
      field.setSelectionRange(field.value.length, field.value.length);
    }
  },

  // Keys go to the service with the number of the ticket that is on the screen, so that a key that was pressed twice
  // never answers the question that came after.
  // After one of the keys that `open` a field, what is typed until the field is there is kept and goes into it.
  keys: null,
  openers: null,
  opening: null,
  listen(keys, openers = []) {
    askless.keys = new Set(keys);
    askless.openers = new Set(openers);
  },
  isOpening() {
    if (askless.opening && Date.now() > askless.opening.until) askless.opening = null;
    return askless.opening !== null;
  },

  // Tells the service that someone is at the page, every so many seconds at most: what they hold stays theirs.
  watchPresence(seconds) {
    let told = 0;
    const tell = () => {
      if (Date.now() - told < 1000 * seconds || !window.did_handshake) return;
      told = Date.now();
      emitEvent("askless-present");
    };
    for (const kind of ["keydown", "pointerdown", "pointermove", "wheel", "touchmove"]) {
      document.addEventListener(kind, tell, { passive: true, capture: true });
    }
  },
};
window.askless = askless;

// Times are shown by the clock of who reads them.
const zone = encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC");
document.cookie = `askless_zone=${zone}; path=/; max-age=${365 * 24 * 3600}; samesite=strict`;

document.addEventListener("input", (event) => {
  const field = event.target.closest?.("[data-keep]");
  if (field) askless.keep(field.dataset.keep, event.target.value);
});

document.addEventListener("keydown", (event) => {
  if (!askless.keys || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (typing && event.key !== "Escape") return;
  // What is typed after Escape is not meant for the field any more, though the service has yet to close it.
  if (typing && !typing.closest(".q-dialog")) typing.blur();
  const key = event.key;
  if (askless.isOpening()) {
    if (key === "Escape") askless.opening = null;
    else if (key.length === 1) askless.opening.typed += key;
    event.preventDefault();
    event.stopPropagation(); // a button that has the focus would take a space for a click
    return;
  }
  if (!askless.keys.has(key)) return;
  if (document.querySelector(".q-dialog") && key !== "Escape") return;
  event.preventDefault();
  const shown = document.querySelector("[data-ticket]");
  const ticket = shown?.offsetParent ? Number(shown.dataset.ticket) : null; // one that is hidden is not on the screen
  if (ticket !== null && askless.openers.has(key)) askless.opening = { typed: "", until: Date.now() + 5000 };
  emitEvent("askless-key", { key, ticket });
}, true);

document.addEventListener("focusin", (event) => {
  const field = event.target.closest?.("input, textarea");
  const kept = field?.closest("[data-keep]");
  if (kept) askless.keep("typing", kept.dataset.keep);
  if (!field || !askless.isOpening()) return;
  const typed = askless.opening.typed;
  askless.opening = null;
  if (typed) document.execCommand("insertText", false, typed);
});
