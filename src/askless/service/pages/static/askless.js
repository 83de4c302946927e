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
  keep(name, text) {
    if (text) sessionStorage.setItem(`askless ${name}`, text);
    else sessionStorage.removeItem(`askless ${name}`);
  },

  // Keys go to the service with the number of the ticket that is on the screen, so that a key that was pressed twice
  // never answers the question that came after.
  keys: null,
  listen(keys) {
    askless.keys = new Set(keys);
  },
};
window.askless = askless;

document.addEventListener("input", (event) => {
  const field = event.target.closest?.("[data-keep]");
  if (field) askless.keep(field.dataset.keep, event.target.value);
});

document.addEventListener("keydown", (event) => {
  if (!askless.keys || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (typing && event.key !== "Escape") return;
  const key = event.key;
  if (!askless.keys.has(key)) return;
  if (document.querySelector(".q-dialog") && key !== "Escape") return;
  event.preventDefault();
  const shown = document.querySelector("[data-ticket]");
  emitEvent("askless-key", { key, ticket: shown ? Number(shown.dataset.ticket) : null });
});
