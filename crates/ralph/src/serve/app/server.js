// The server: the session, views, actions, and the stream of events.

const KEY = "ralph-key";

class Refused extends Error {
  constructor(status, answer) {
    super(answer?.error ?? `the server answered with ${status}`);
    this.status = status;
    this.hints = answer?.hints ?? [];
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Refused(0, { error: "the dashboard's server does not answer", hints: ["start it again with `ralph serve`"] });
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok || answer?.error) throw new Refused(response.status, answer);
  return answer;
}

const post = (path, body, headers) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) });

const act = (body) => post("/api/action", body, { "X-Ralph-Key": localStorage.getItem(KEY) ?? "" });

// The token of the link becomes a cookie, and leaves the address.
async function openSession() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", "#/now");
  const { key } = await post("/api/session", { token });
  localStorage.setItem(KEY, key);
}

const stream = { source: null, timer: 0 };

function closeStream() {
  clearTimeout(stream.timer);
  stream.source?.close();
  stream.source = null;
}

// `handlers` take what the events of each name hold.
function openStream(handlers) {
  closeStream();
  const source = new EventSource("/api/events");
  stream.source = source;
  for (const [name, handle] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
  }
  source.onopen = () => showBanner("connection", null);
  source.onerror = async () => {
    // Why is not told; any other request says it.
    const error = await ask("/api/now").then(() => null, (error) => error);
    if (stream.source !== source) return;
    if (error) showBanner("connection", error);
    if (error?.status === 401) return closeStream();
    if (source.readyState === EventSource.CLOSED) stream.timer = setTimeout(() => openStream(handlers), 2000);
  };
}

const banners = new Map();

function showBanner(name, error) {
  if (error) banners.set(name, error);
  else if (!banners.delete(name)) return;
  $("banner").replaceChildren(
    ...[...banners.values()].map((of) =>
      h("div", { class: "card needs" }, h("b", {}, sentence(of.message ?? of.error)), (of.hints ?? []).map((hint) => h("p", { class: "soft" }, hint)))));
}

const sentence = (text) => {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
};

// Receipts of actions, newest first.
function receipt(lines, hints, kind) {
  const close = h("button", { class: "plain", "aria-label": "Close", onclick: () => note.remove() }, "×");
  const note = h("div", { class: `card receipt ${kind}` }, close, lines.map((line) => h("p", {}, sentence(line))), hints.map((hint) => h("p", { class: "soft" }, sentence(hint))));
  $("receipts").prepend(note);
  while ($("receipts").childElementCount > 3) $("receipts").lastChild.remove();
  if (kind === "ok") setTimeout(() => note.remove(), 15000);
}

async function perform(body) {
  try {
    const done = await act(body);
    receipt(done.lines, done.hints, "ok");
    return true;
  } catch (error) {
    receipt([error.message], error.hints ?? [], "bad");
    return false;
  }
}

// Asks once before something is done; with `field`, for a text too. What was typed stays there if it cannot be done.
function confirmed({ title, text, field, button, body, other }) {
  const dialog = $("dialog");
  const input = field && h("textarea", { id: "note-text", rows: 5, maxlength: 2000, "aria-label": field, placeholder: field });
  const run = (with_) => async (event) => {
    event.preventDefault();
    if (input && !input.value.trim() && with_.needsText !== false) return input.focus();
    const done = await perform({ ...with_.body, ...(input ? { text: input.value } : {}) });
    if (done) dialog.close();
  };
  const go = h("button", { class: "main", type: "submit" }, button);
  const more = other && h("button", { type: "button", onclick: run(other) }, other.button);
  const cancel = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  dialog.replaceChildren(
    h("form", { onsubmit: run({ body, needsText: Boolean(field) }) }, h("h2", {}, title), text && h("p", { class: "soft" }, text), input, h("div", { class: "row actions" }, go, more, cancel)));
  dialog.showModal();
  (input ?? go).focus();
}

const askSkip = (task) => confirmed({
  title: `Skip ${task.name} ${task.title}?`, text: "Tasks that depend on it may go on without it. Undo takes this back.", button: "Skip", body: { action: "skip", task: task.id },
});
const askNote = (task, kind) => confirmed({
  title: kind === "blocked" ? `Note to ${task.name}, then retry` : `Note to ${task.name}`,
  text: kind === "blocked" ? "The next attempt reads the note." : kind === "running" ? "The next attempt reads the note. Now: the attempt under way ends, is not counted, and a new one starts with it." : "The next attempt reads the note.",
  field: "What should it know?",
  button: kind === "blocked" ? "Leave note and retry" : "Leave note",
  body: { action: kind === "blocked" ? "note_and_go_ahead" : "note", task: task.id },
  other: kind === "running" && { button: "Note now", body: { action: "note_now", task: task.id } },
});
