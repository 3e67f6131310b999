// Which view is shown, and when it is read again.

const VIEWS = {
  now: { show: null },
  plan: { show: showPlan, every: 1000 },
  task: { show: showTask, every: 1000 },
  decisions: { show: showDecisions, every: 5000 },
  memory: { show: showMemory, every: 5000 },
  runs: { show: showRuns, every: 5000 },
};

const shown = { hash: null, stamp: null, at: 0, timer: 0, turn: 0 };

function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").map(decodeURIComponent);
  return { name: Object.hasOwn(VIEWS, name) ? name : "now", path: rest, query: new URLSearchParams(query ?? "") };
}

async function show() {
  const at = place();
  const isNew = shown.hash !== location.hash;
  const turn = (shown.turn += 1);
  clearTimeout(shown.timer);
  shown.timer = 0;
  Object.assign(shown, { hash: location.hash, stamp: state.now?.stamp ?? null, at: Date.now() });
  for (const one of $("nav").children) {
    const isOn = one.getAttribute("href") === `#/${at.name}`;
    one.classList.toggle("on", isOn);
    if (isOn) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  document.body.dataset.view = at.name;
  if (at.name === "now") {
    if (isNew || !$("plan-list")) showNow();
    return renderNow();
  }
  try {
    state.again = 0;
    const nodes = await VIEWS[at.name].show(at);
    if (turn !== shown.turn) return;
    fill(nodes, isNew);
    if (state.again) shown.timer = setTimeout(show, state.again);
  } catch (error) {
    if (turn === shown.turn && isNew) fill([card(null, { class: "needs" }, problem(error))], isNew);
  }
}

// Keeps what a person opened and where they are.
function fill(nodes, isNew) {
  const view = $("view");
  const open = isNew ? [] : [...view.querySelectorAll("details")].map((one) => one.open);
  const scrolled = isNew ? [] : [...view.querySelectorAll(".scroll, pre")].map((one) => [one.scrollLeft, one.scrollTop]);
  const focused = document.activeElement?.id;
  view.replaceChildren(...nodes.filter(Boolean));
  const details = [...view.querySelectorAll("details")];
  if (details.length === open.length) details.forEach((one, at) => (one.open = open[at]));
  const areas = [...view.querySelectorAll(".scroll, pre")];
  if (areas.length === scrolled.length) areas.forEach((one, at) => ([one.scrollLeft, one.scrollTop] = scrolled[at]));
  if (isNew) window.scrollTo(0, 0);
  else if (focused) $(focused)?.focus();
  view.dataset.ready = location.hash;
}

// Reads the view again if what it shows may have changed, but not too often; pages do not all ask in the same moment.
function refresh() {
  const every = VIEWS[place().name].every;
  if (!every || shown.timer || state.now?.stamp === shown.stamp) return;
  const wait = Math.max(0, shown.at + every - Date.now()) + Math.random() * 200;
  shown.timer = setTimeout(show, wait);
}

const handlers = {
  now(now) {
    const isFirst = state.now === null;
    state.now = now;
    renderHeader(now);
    if (place().name === "now" || isFirst) show();
    else refresh();
  },
  recent(lines) {
    state.recent = lines;
    renderNow();
  },
  output({ task, text }) {
    state.outputs.set(task, text);
    renderOutput(task);
  },
  trouble(error) {
    showBanner("trouble", error);
  },
};

async function start() {
  try {
    await openSession();
  } catch (error) {
    showBanner("connection", error);
  }
  window.addEventListener("hashchange", () => (location.hash.startsWith("#token=") ? start() : show()));
  // A browser keeps few connections to one server: pages that nobody sees have none.
  document.addEventListener("visibilitychange", () => (document.hidden ? closeStream() : openStream(handlers)));
  setInterval(tick, 1000);
  openStream(handlers);
  if (place().name !== "now") show();
}

start();
