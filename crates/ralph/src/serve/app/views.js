// The plan as a drawing, decisions, memory and runs.

// Smaller where that is enough to see all of it and can still be read.
function fitted(svg) {
  const [width, height] = ["width", "height"].map((name) => Number(svg.getAttribute(name)));
  const scale = (Math.min(innerWidth, 1400) - 76) / width;
  if (scale >= 0.8 && scale < 1) {
    svg.setAttribute("width", Math.floor(width * scale));
    svg.setAttribute("height", Math.ceil(height * scale));
  }
  return svg;
}

async function showPlan({ query }) {
  const group = query.get("group");
  const from = query.get("from");
  const asked = new URLSearchParams([["group", group], ["from", from]].filter(([, value]) => value));
  const plan = await ask(`/api/plan?${asked}`);
  const window_ = (start) => `#/plan?${new URLSearchParams([["group", plan.group], ["from", start]].filter(([, value]) => value))}`;
  const pages = plan.of > plan.shown && h("span", { class: "row links num" },
    plan.from > 0 && link(window_(Math.max(0, plan.from - plan.window)), "← earlier"),
    h("span", { class: "soft" }, `${plan.from + 1} to ${plan.from + plan.shown} of ${plan.of}`),
    plan.from + plan.shown < plan.of && link(window_(plan.from + plan.window), "later →"));
  const key = [["ok", "✓ verified"], ["weak", "◐ unverified"], ["run", "▶ running"], ["bad", "✗ blocked"], ["idle", "· waiting"], ["idle", "– skipped"]];
  return [h("section", { class: "card wide" },
    h("div", { class: "row" }, h("h2", {}, plan.title), plan.group && link("#/plan", "All groups"), h("span", { class: "grow" }), pages),
    h("p", { class: "row soft key" }, key.map(([kind, text]) => h("span", { class: kind }, text))),
    plan.of === 0 ? h("p", { class: "soft" }, "No tasks yet: ", command("ralph task add TITLE")) : h("div", { class: "scroll", id: "dag" }, fitted(drawing(plan.svg))))];
}

async function showDecisions({ query }) {
  const run = query.get("run") ?? "";
  const { plots } = await ask(`/api/decisions?run=${encodeURIComponent(run)}`);
  const present = state.now?.run?.id;
  const choice = h("div", { class: "tabs" }, h("a", { href: "#/decisions", class: run ? "" : "on" }, "All runs"),
    present && h("a", { href: `#/decisions?run=${encodeURIComponent(present)}`, class: run === present ? "on" : "" }, state.now.run.active ? "This run" : "The last run"),
    run && run !== present && h("a", { href: location.hash, class: "on" }, run));
  return [choice, h("div", { class: "plots" }, plots.map((of) => h("section", { class: "card" }, plot(of))))];
}

async function showMemory() {
  const memory = await ask("/api/memory");
  const rows = memory.learnings.map((of) => [h("span", { class: "soft" }, of.category), h("span", {}, of.pinned && "★ ", of.content), String(of.shown), String(of.helped), String(of.harmed)]);
  return [h("section", { class: "card" }, plot(memory.plot)),
    rows.length > 0 && h("section", { class: "card" }, h("h2", {}, "Learnings"), table(["Category", "Learning", "Shown", "Helped", "Harmed"], rows, "list learnings"),
      memory.left_out > 0 && h("p", { class: "soft" }, `… and ${counted(memory.left_out, "more learning")}: `, command("ralph learnings list")))].filter(Boolean);
}

async function showRuns() {
  const { plot: compared, runs } = await ask("/api/runs");
  if (runs.length === 0) return [card("No runs yet", {}, h("p", { class: "soft" }, "Start one in a terminal: ", command("ralph run")))];
  const rows = runs.map((run) => [
    h("span", { class: "num" }, clock(run.started_at)), h("span", { class: "num" }, run.active ? ticking(run.started_at) : elapsed(run.duration_ms)), h("span", { class: run.class }, run.outcome), run.done, String(run.failed),
    run.cost, run.agents, h("span", { class: "row links" }, link(`#/decisions?run=${encodeURIComponent(run.id)}`, "Plots"), run.attempts > 0 && h("a", { href: `/report?run=${encodeURIComponent(run.id)}`, target: "_blank", rel: "noopener" }, "Report"))]);
  return [h("section", { class: "card" }, plot(compared)),
    h("section", { class: "card" }, h("h2", {}, counted(runs.length, "run")), table(["Started", "Time", "Outcome", "Done", "Failed", "Cost", "Agents", ""], rows, "list"))];
}
