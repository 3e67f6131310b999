// A task: its attempts as a timeline, prompt, diff and log.

const TABS = [["attempts", "Attempts"], ["prompt", "Prompt"], ["diff", "Diff"], ["log", "Log"]];

async function showTask({ path, query }) {
  const [id, tab = "attempts"] = path;
  const task = await ask(`/api/task?task=${encodeURIComponent(id)}`);
  const about = h("div", { class: "stack" }, taskHead(task), relations(task));
  const tabs = h("div", { class: "tabs", role: "tablist" }, TABS.map(([name, text]) =>
    h("a", { href: taskLink(id, name), role: "tab", "aria-selected": String(name === tab), class: name === tab ? "on" : "" }, text)));
  const body = await taskBody(task, tab, query);
  return [h("div", { class: "two task-view" }, about, h("div", { class: "stack" }, tabs, body))];
}

function taskHead(task) {
  const acts = state.now?.actions ? [
    task.can_go_ahead && button("Write a note and retry", () => askNote(task, "blocked"), { id: "task-retry" }),
    task.can_go_ahead && button("Go ahead", () => perform({ action: "go_ahead", task: task.id }), { id: "task-go" }),
    task.can_note && !task.can_go_ahead && button("Note", () => askNote(task, task.under_way ? "running" : "waiting"), { id: "task-note" }),
    task.can_skip && button("Skip", () => askSkip(task), { id: "task-skip" }),
    task.can_reset && button("Reset", () => confirmed({ title: `Reset ${task.name}?`, text: "It is to be done again.", button: "Reset", body: { action: "reset", task: task.id } }), { id: "task-reset" }),
  ].filter(Boolean) : [];
  return h("section", { class: "card" },
    h("div", { class: "row" }, h("span", { class: `pill ${task.class}` }, `${task.glyph} ${task.word}`), task.under_way && h("span", { class: "soft num" }, `${task.under_way.what} · `, ticking(task.under_way.since))),
    h("h2", { class: "task-title" }, h("span", { class: "soft num" }, `${task.name} `), task.title),
    task.reason && h("p", {}, sentence(task.reason)),
    task.description && h("p", { class: "lines" }, task.description),
    task.verify && h("div", { class: "field" }, h("span", { class: "soft" }, "Gate"), pre(task.verify, { class: "tight" })),
    task.next_model && h("p", { class: "soft" }, `${task.next_model} for the next attempt`),
    task.command && !acts.length && h("p", {}, command(task.command)),
    acts.length > 0 && h("div", { class: "row actions" }, acts));
}

function relations(task) {
  const list = (title, others) => others.length > 0 && [h("div", { class: "phase" }, title), h("div", { class: "tasks" }, others.map((of) =>
    h("a", { class: "task", href: taskLink(of.id) }, glyph(of), h("span", { class: "soft num" }, of.name), h("span", { class: "title" }, of.title))))];
  const notes = task.notes.length > 0 && [h("div", { class: "phase" }, "Notes"), task.notes.map((note) =>
    h("div", { class: "note" }, h("p", { class: "lines" }, note.text), h("span", { class: "soft num" }, `${clock(note.at)} · ${note.state}`)))];
  const all = [notes, list("Part of", task.parent), list("Subtasks", task.subtasks), list("Depends on", task.dependencies), list("Waits for it", task.dependents)].filter(Boolean);
  return all.length > 0 && h("section", { class: "card" }, all);
}

async function taskBody(task, tab, query) {
  const of = encodeURIComponent(task.id);
  try {
    if (tab === "prompt") return await promptCards(task, of, query.get("number"));
    if (tab === "diff") return diffCards(await ask(`/api/diff?task=${of}${query.get("attempt") ? `&attempt=${query.get("attempt")}` : ""}`));
    if (tab === "log") return logCard(task, await ask(`/api/log?task=${of}${query.get("number") ? `&number=${query.get("number")}` : ""}`), query.get("number"));
  } catch (error) {
    return card(null, {}, problem(error));
  }
  return timeline(task);
}

function timeline(task) {
  if (task.attempts.length === 0) return card(null, {}, h("p", { class: "soft" }, "No attempts yet."));
  const trends = { same_failure: ["bad", "same failure"], progress: ["ok", "progress"], no_progress: ["weak", "no progress"] };
  const attempt = (of) => {
    const [kind, word] = trends[of.trend] ?? [];
    const known = [of.agent, elapsed(of.duration_ms), of.cost].filter(Boolean).join(" · ");
    return h("li", { class: of.class }, h("div", { class: "row" }, h("span", { class: `dot ${of.class}` }, of.glyph), h("b", {}, of.name), h("span", { class: "num" }, known),
      word && h("span", { class: `pill ${kind}`, title: of.trend_words }, word), h("span", { class: "grow" }), h("span", { class: "soft num" }, clock(of.started_at))),
      h("p", {}, sentence(of.outcome)),
      of.rationale && h("p", { class: "soft" }, `Model: ${of.rationale}`),
      of.evidence.length > 0 && h("ul", { class: "soft" }, of.evidence.map((line) => h("li", {}, line))),
      of.report.map(([name, text]) => name === "Output" || name === "The agent's answer"
        ? h("details", {}, h("summary", {}, name), pre(text)) : h("div", { class: "field" }, h("span", { class: "soft" }, name), h("span", { class: "lines" }, text))),
      of.gate_output && h("details", {}, h("summary", {}, "Output of the gate"), pre(of.gate_output)),
      of.files.length > 0 && h("details", {}, h("summary", {}, counted(of.files.length, "file")), h("p", { class: "lines mono" }, of.files.join("\n"))),
      h("div", { class: "row links" }, of.has_log && link(`${taskLink(task.id, "log")}?number=${of.number}`, "Log"), of.has_log && link(`${taskLink(task.id, "prompt")}?number=${of.number}`, "Prompt"), of.has_diff && of.counted && link(`${taskLink(task.id, "diff")}?attempt=${of.attempt}`, "Diff"),
        of.learnings > 0 && h("span", { class: "soft" }, `${counted(of.learnings, "learning")} in the prompt`)));
  };
  const rows = [...task.attempts].reverse().map(attempt);
  return card(null, {}, h("ol", { class: "timeline" }, rows), task.more_attempts > 0 && h("p", { class: "soft" }, `… and ${counted(task.more_attempts, "older attempt")}: `, command(`ralph history ${task.name}`)));
}

// Links to what there is of each attempt, the one that is shown marked.
function choices(task, tab, chosen, more) {
  const one = (number, text) => link(`${taskLink(task.id, tab)}?number=${number}`, h("span", { class: String(number) === String(chosen) ? "on" : "" }, text));
  const all = [...task.attempts.filter((of) => of.has_log).map((of) => one(of.number, of.name)), task.under_way?.number > 0 && one(task.under_way.number, "under way"), ...more.map(([number, text]) => one(number, text))].filter(Boolean);
  return all.length > 1 && h("div", { class: "row links" }, all);
}

async function promptCards(task, id, asked) {
  const chosen = asked ?? (task.under_way?.number || "next");
  const links = choices(task, "prompt", chosen, [["next", "next attempt"]]);
  let of;
  try {
    of = await ask(`/api/prompt?task=${id}${chosen === "next" ? "" : `&number=${chosen}`}`);
  } catch (error) {
    return card(null, {}, links, problem(error));
  }
  const made = chosen !== "next";
  return card(made ? `The prompt of ${of.attempt}` : "The prompt of its next attempt", {}, links,
    of.ask_human && h("p", { class: "weak" }, sentence(`Ralph would not start an attempt now: ${of.ask_human}`)),
    h("p", { class: "soft" }, [made ? of.agent : of.model, of.rationale].filter(Boolean).join(": ")),
    of.system && h("details", {}, h("summary", {}, "System prompt"), pre(of.system)),
    of.explanation && h("details", {}, h("summary", {}, "How its memory was chosen"), pre(of.explanation)),
    pre(of.prompt, { class: "long" }));
}

const problem = (error) => [h("p", {}, sentence(error.message)), (error.hints ?? []).map((hint) => h("p", { class: "soft" }, hint))];

const LINES = 6000;

function diffCards(diffs) {
  return h("div", { class: "stack" }, diffs.map((of) => {
    const place = h("pre", { class: "diff" });
    const lines = of.diff.split("\n");
    for (const line of lines.slice(0, LINES)) {
      const kind = /^(diff |index |--- |\+\+\+ )/.test(line) ? "file" : line.startsWith("@") ? "at" : line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : "";
      place.append(kind ? h("span", { class: kind }, line) : line, "\n");
    }
    return card(`Attempt ${of.attempt}: ${counted(of.files, "file")}${of.rolled_back ? ", rolled back" : ""}`, {}, place, (of.is_cut || lines.length > LINES) && h("p", { class: "soft" }, "The rest of the diff: ", command("ralph diff TASK")));
  }));
}

function logCard(task, log, number) {
  const newest = task.attempts.filter((of) => of.has_log).at(-1)?.number;
  const chosen = number ?? (log.under_way ? task.under_way?.number : newest);
  if (log.under_way) state.again = 2000;
  return card(null, {}, choices(task, "log", chosen, []),
    log.is_cut && h("p", { class: "soft" }, "The beginning is left out: ", command(`ralph logs ${task.name}`)), pre(log.text || "The log is empty.", { class: "long log" }));
}
