// The header, and what goes on now.

// `again`: how soon the view wants to be read again, though nothing was told.
const state = { now: null, recent: [], outputs: new Map(), plots: [], again: 0 };

const button = (text, onclick, attributes) => h("button", { type: "button", onclick, ...attributes }, text);

function renderHeader(now) {
  const run = now.run;
  $("project").textContent = now.project;
  document.title = `${now.needs.length ? `(${now.needs.length + now.more_needs}) ` : ""}${now.project} — Ralph`;
  $("run").replaceChildren(
    run ? h("span", { class: `pill ${run.class}`, id: "run-state" }, run.word) : h("span", { class: "pill idle", id: "run-state" }, "no runs yet"),
    ...(run ? [h("span", { class: "soft" }, run.active ? [ticking(run.started_at), " · "] : run.duration_ms > 0 && `${elapsed(run.duration_ms)} · `, `started ${clock(run.started_at)}`,
      run.others > 0 && ` · ${counted(run.others, "other run")}`)] : []));
  const c = now.counts;
  const landed = c.done - c.verified;
  $("bar").replaceChildren(bar([[c.verified, "b-ok"], [landed, "b-weak"], [c.in_progress, "b-run"], [c.blocked + c.failed, "b-bad"]], c.total, now.summary));
  const rests = [[c.verified, "verified"], [c.reviewed, "reviewed"], [c.unverified, "unverified"]].filter(([n]) => n > 0).map(([n, word]) => `${n} ${word}`);
  const count = (n, word, kind) => n > 0 && h("span", { class: kind }, `${n} ${word}`);
  const limit = now.budgets.find((of) => of.label === "Cost of the run");
  $("sums").replaceChildren(...[
    h("span", {}, h("b", {}, `${c.done} of ${c.total} done`), rests.length > 0 && h("span", { class: "soft" }, ` (${rests.join(", ")})`)),
    count(c.in_progress, "running", "run"), count(c.blocked, "blocked", "bad"), count(c.failed, "failed", "bad"),
    count(c.pending, "waiting", "soft"), count(c.skipped, "skipped", "soft"),
    h("span", { class: "grow" }),
    (limit || now.cost) && h("span", {}, limit ? limit.text : now.cost),
    now.eta && h("span", { class: "soft", id: "eta" }, now.eta),
  ].filter(Boolean));
  $("controls").replaceChildren(...(now.actions ? controls(now) : []));
}

function controls(now) {
  const run = now.run;
  const undo = now.last_action && button("Undo", () => confirmed({ title: "Undo?", text: `You ${now.last_action}.`, button: "Undo", body: { action: "undo" } }), { id: "undo", title: `You ${now.last_action}` });
  if (!run?.active) return [undo].filter(Boolean);
  const stop = () => confirmed({
    title: "Stop the run?", text: "Stop now interrupts the attempt under way, which is not counted.", button: "Stop now", body: { action: "stop", run: run.id },
    other: { button: "Stop after this attempt", body: { action: "stop_after_attempt", run: run.id } },
  });
  return [
    undo,
    run.can_pause && button("Pause", () => perform({ action: "pause", run: run.id }), { id: "pause", title: "Pauses after the attempt under way" }),
    run.can_resume && button("Resume", () => perform({ action: "resume", run: run.id }), { id: "resume", class: "main" }),
    button("Stop", stop, { id: "stop" }),
  ].filter(Boolean);
}

// Rebuilds a part of the page only where what it shows changed, so that nothing flickers and no focus is lost.
function part(id, data, build) {
  const json = JSON.stringify(data);
  let place = $(id);
  if (!place) return;
  if (place.dataset.shows === json) return;
  const focused = document.activeElement?.id;
  place.replaceChildren(...[build()].flat().filter(Boolean));
  place.dataset.shows = json;
  if (focused && document.activeElement?.id !== focused) $(focused)?.focus();
}

function showNow() {
  $("view").replaceChildren(
    h("div", { class: "two" },
      h("div", { class: "stack", id: "left" }, h("div", { id: "plan-list" })),
      h("div", { class: "stack", id: "right" }, h("div", { id: "needs" }), h("div", { id: "ended" }), h("div", { id: "workers", class: "stack" }), h("div", { id: "recent" }), h("div", { id: "budgets" }), h("div", { id: "plots", class: "plots small" }))));
  renderNow();
}

function renderNow() {
  const now = state.now;
  if (!now || !$("plan-list")) return;
  part("needs", [now.needs, now.notices, now.actions], () => needs(now));
  part("ended", now.run && [now.run.reason, now.run.hint], () => ended(now));
  part("workers", [now.workers, now.waiting, now.actions], () => workers(now));
  now.workers.forEach((worker) => renderOutput(worker.id));
  part("recent", state.recent, () => recent());
  part("budgets", now.budgets, () => budgets(now));
  part("plots", state.plots, () => state.plots.map((of) => card(null, {}, h("figure", { class: "plot-box" }, h("figcaption", {}, link(`#/decisions?run=${encodeURIComponent(now.run.id)}`, of.title)), drawing(of.svg)))));
  readPlots(now.run);
  part("plan-list", [now.groups, now.groups_left_out, now.workers], () => planList(now));
  tick();
}

// The plots of the run, read once everything else is there and again from time to time while something happens.
const SHOWN_PLOTS = ["cost", "success", "retries", "spend"];
const PLOTS_EVERY = 10000;
const reading = { run: null, of: null, at: 0, timer: 0 };

function readPlots(run) {
  const of = run && `${run.id} ${state.now.stamp}`;
  if (reading.run !== run?.id) {
    clearTimeout(reading.timer);
    Object.assign(reading, { run: run?.id, of: null, at: 0, timer: 0 });
    state.plots = [];
  }
  if (!of || reading.timer || reading.of === of || document.hidden) return;
  const read = async () => {
    reading.at = Date.now();
    try {
      const { plots } = await ask(`/api/decisions?run=${encodeURIComponent(run.id)}&strategies=0`);
      if (reading.run !== run.id) return;
      state.plots = plots.filter((one) => SHOWN_PLOTS.includes(one.id) && one.svg);
      reading.of = of;
    } catch {
      // The banner says why; the next event tries again.
    }
    reading.timer = 0;
    renderNow();
  };
  reading.timer = setTimeout(read, Math.max(0, reading.at + PLOTS_EVERY - Date.now()));
}

function needs(now) {
  if (now.needs.length + now.notices.length === 0) return null;
  const item = (task) => h("div", { class: "need", "data-task": task.id },
    h("div", {}, glyph(task), " ", link(taskLink(task.id), h("b", {}, `${task.name} ${task.title}`)), " ", h("span", { class: "soft" }, task.happened)),
    task.why && h("p", {}, sentence(task.why)),
    h("div", { class: "row actions" },
      now.actions && task.is_blocked && [
        button("Write a note and retry", () => askNote(task, "blocked"), { id: `retry-${task.id}` }),
        button("Go ahead", () => perform({ action: "go_ahead", task: task.id }), { id: `go-${task.id}`, title: "Attempt it again as it is" }),
      ],
      now.actions && !task.is_blocked && button("Reset", () => perform({ action: "reset", task: task.id }), { id: `reset-${task.id}` }),
      now.actions && button("Skip", () => askSkip(task), { id: `skip-${task.id}` }),
      !now.actions && task.command && command(task.command),
      task.dependents > 0 && h("span", { class: "soft" }, task.dependents === 1 ? "1 task waits for it" : `${task.dependents} tasks wait for it`)));
  return card("Needs you", { class: "needs" },
    now.notices.map((notice) => h("div", { class: "need" }, notice.text, " ", notice.command && command(notice.command))),
    now.needs.map(item),
    now.more_needs > 0 && h("p", { class: "soft" }, `… and ${counted(now.more_needs, "more task")}: `, command("ralph status")));
}

function ended(now) {
  const run = now.run;
  if (!run) return card("No runs yet", {}, h("p", { class: "soft" }, "Start one in a terminal: ", command("ralph run")));
  if (run.active || !run.reason) return null;
  return card("The last run", { class: run.class }, h("p", {}, sentence(run.reason)), run.hint && h("p", { class: "soft" }, run.hint),
    h("p", {}, h("a", { href: `/report?run=${encodeURIComponent(run.id)}`, target: "_blank", rel: "noopener" }, "Report of this run")));
}

function workers(now) {
  const cards = now.workers.map((of) => {
    const task = { id: of.id, name: of.name, title: of.title };
    return h("section", { class: "card worker", "data-task": of.id },
      h("div", { class: "row" }, h("span", { class: "run" }, of.glyph), link(taskLink(of.id), h("b", {}, `${of.name} ${of.title}`)),
        h("span", { class: "soft num" }, [of.what, of.agent].filter(Boolean).join(" · "), " · ", ticking(of.since)),
        h("span", { class: "grow" }), of.worker && h("span", { class: "soft" }, of.worker),
        now.actions && button("Note", () => askNote(task, "running"), { id: `note-${of.id}` })),
      of.has_output && pre("", { class: "output", "data-output": of.id, tabindex: 0, "aria-label": `Live output of ${of.name}` }));
  });
  const wait = now.waiting && now.workers.length === 0 && card(null, {}, h("span", { class: "weak" }, "~ "), sentence(now.waiting.text), " ",
    h("span", { class: "soft" }, "for ", ticking(now.waiting.since), now.waiting.until && `, until ${clock(now.waiting.until)}`));
  return [...cards, wait];
}

function renderOutput(id) {
  for (const place of document.querySelectorAll(".output")) {
    if (place.dataset.output !== id) continue;
    const text = state.outputs.get(id) || "No output yet.";
    if (place.textContent === text) return;
    const isAtEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 24;
    place.textContent = text;
    if (isAtEnd) place.scrollTop = place.scrollHeight;
  }
}

function recent() {
  if (state.recent.length === 0) return null;
  const rows = [...state.recent].reverse().slice(0, 10);
  return card("What happened", {}, h("ol", { class: "recent" }, rows.map((line) => h("li", {}, h("span", { class: "soft num" }, clock(line.at)), h("span", { class: "lines" }, line.text)))));
}

function budgets(now) {
  if (now.budgets.length === 0) return null;
  return card("Budgets", {}, now.budgets.map((of) => h("div", { class: "budget" },
    h("div", { class: "row" }, h("span", {}, of.label), h("span", { class: "grow" }), h("span", { class: `num ${of.near ? "weak" : "soft"}` }, of.text)),
    bar([[of.share, of.near ? "b-bad" : "b-run"]], 1, `${of.label}: ${of.text}`))));
}

function planRow(row) {
  const worker = state.now.workers.find((worker) => worker.id === row.id);
  const took = worker ? [worker.what, worker.agent].filter(Boolean).join(" · ") : row.took;
  return h("a", { class: "task", href: taskLink(row.id) }, glyph(worker ? { ...row, glyph: worker.glyph } : row), h("span", { class: "soft num" }, row.name), h("span", { class: "title" }, row.title),
    h("span", { class: "soft num took" }, took), row.why ? h("span", { class: "why" }, row.why) : row.class === "weak" && h("span", { class: "why" }, row.word));
}

function planList(now) {
  if (now.groups.length === 0) return card("Plan", {}, h("p", { class: "soft" }, "No tasks yet: ", command("ralph task add TITLE")));
  const one = now.groups.length === 1 && now.groups_left_out === 0;
  const part = (group) => [
    h("div", { class: "phase" }, one ? null : h("a", { href: `#/plan?group=${encodeURIComponent(group.id)}` }, group.title),
      !one && h("span", { class: "num" }, ` · ${group.tally.verified + group.tally.unverified} of ${group.tally.total} done`)),
    h("div", { class: "tasks" }, group.rows.map(planRow)),
    group.left_out > 0 && h("p", { class: "soft more" }, `… and ${counted(group.left_out, "more task")}`),
  ];
  return card("Plan", {}, now.groups.map(part), now.groups_left_out > 0 && h("p", { class: "soft" }, `… and ${counted(now.groups_left_out, "more group")}: `, link("#/plan", "see the whole plan")));
}
