// The login: changes a key for a session's cookie. A key after the # of the address, as `askless serve` prints it, is
// never sent to a server as part of the address, and is taken out of it at once.
(() => {
  const form = document.getElementById("login");
  const field = document.getElementById("key");
  const wrong = document.getElementById("wrong");
  const button = form.querySelector("button");
  const asked = new URLSearchParams(location.search);

  const next = () => {
    const path = asked.get("next") || "/ui/";
    return path.startsWith("/ui/") ? path : "/ui/"; // never to another site
  };

  const say = (text) => {
    wrong.textContent = text;
    field.setAttribute("aria-invalid", text ? "true" : "false");
  };

  const tell = (role) =>
    say(`This key is of the role ${role}. The pages need a key of the role expert or admin; your admin makes one with: ` +
      "askless keys create NAME --role expert");

  async function logIn(key) {
    say("");
    button.disabled = true;
    try {
      const answer = await askless.call("POST", "/api/v1/session", { key: key.trim() });
      const body = await answer.json();
      if (!answer.ok) {
        say(answer.status === 401 ? "This key is not in force. Look whether all of it was copied." : body.detail);
      } else if (body.role === "client") {
        await askless.call("DELETE", "/api/v1/session");
        tell("client");
      } else {
        location.replace(next());
        return;
      }
    } catch {
      say("The service does not answer. Is it running?");
    }
    button.disabled = false;
    field.focus();
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    logIn(field.value);
  });
  if (asked.get("role")) tell(asked.get("role"));
  const take = () => {
    if (!location.hash.startsWith("#ask_")) return;
    const key = location.hash.slice(1);
    history.replaceState(null, "", location.pathname + location.search);
    field.value = key;
    logIn(key);
  };
  addEventListener("hashchange", take);
  take();
})();
