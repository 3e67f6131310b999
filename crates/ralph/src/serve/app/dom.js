// Elements, drawings and words. Text from the server becomes text nodes; nothing of it is ever read as markup.

const $ = (id) => document.getElementById(id);

// An element: h("p", { class: "soft" }, "text", other, [more]).
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const link = (to, ...children) => h("a", { href: to }, ...children);
const taskLink = (id, tab) => `#/task/${encodeURIComponent(id)}${tab ? `/${tab}` : ""}`;
const glyph = (of) => h("span", { class: of.class, title: of.word }, of.glyph, h("span", { class: "read" }, of.word ?? ""));

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = new Set(["svg", "g", "a", "line", "rect", "circle", "polyline", "path", "text", "tspan", "title"]);
const ATTRIBUTES = new Set(("class x y x1 x2 y1 y2 cx cy r rx width height d points viewBox text-anchor role aria-label href").split(" "));
// The parser is the only place that sees markup; what it makes is inert and is copied piece by piece.
const allowed = { createHTML: (text) => text };
const drawings = window.trustedTypes ? window.trustedTypes.createPolicy("ralph-drawing", allowed) : allowed;

function copied(shape) {
  const copy = document.createElementNS(SVG, shape.localName);
  for (const { name, value } of shape.attributes) {
    if (ATTRIBUTES.has(name) && (name !== "href" || value.startsWith("#/"))) copy.setAttribute(name, value);
  }
  for (const child of shape.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.data);
    else if (SHAPES.has(child.localName)) copy.append(copied(child));
  }
  return copy;
}

// A drawing that the server made.
function drawing(markup) {
  const page = new DOMParser().parseFromString(drawings.createHTML(markup), "text/html");
  const svg = page.querySelector("svg");
  return svg ? copied(svg) : null;
}

// A bar of pieces: [[amount, class], …] out of a total.
function bar(pieces, total, says) {
  const bar = h("div", { class: "bar", role: "img", "aria-label": says });
  for (const [amount, kind] of pieces) {
    if (amount <= 0) continue;
    const piece = h("i", { class: kind });
    piece.style.width = `${(amount / Math.max(total, 1e-9)) * 100}%`;
    bar.append(piece);
  }
  return bar;
}

const counted = (n, thing) => `${n} ${thing}${n === 1 ? "" : "s"}`;

// 4 s, 3 min 5 s, 12 min, 6 h 40 min, 2 d 3 h
function elapsed(ms) {
  const round = (unit) => Math.round(Math.max(ms, 0) / unit);
  const parts = (whole, unit, rest, small) => (rest ? `${whole} ${unit} ${rest} ${small}` : `${whole} ${unit}`);
  const [seconds, minutes, hours] = [round(1000), round(60000), round(3600000)];
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 600) return parts(Math.floor(seconds / 60), "min", seconds % 60, "s");
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 2880) return parts(Math.floor(minutes / 60), "h", minutes % 60, "min");
  return parts(Math.floor(hours / 24), "d", hours % 24, "h");
}

// 16:44 today, else 2026-11-16 16:44
function clock(time) {
  const at = new Date(time);
  const two = (n) => String(n).padStart(2, "0");
  const day = (of) => `${of.getFullYear()}-${two(of.getMonth() + 1)}-${two(of.getDate())}`;
  const hours = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return day(at) === day(new Date()) ? hours : `${day(at)} ${hours}`;
}

// Time since a moment, which goes on.
const ticking = (since) => h("span", { class: "since", "data-since": Date.parse(since) }, elapsed(Date.now() - Date.parse(since)));

function tick() {
  for (const one of document.querySelectorAll("[data-since]")) {
    const text = elapsed(Date.now() - Number(one.dataset.since));
    if (one.textContent !== text) one.textContent = text;
  }
}

const card = (title, attributes, ...children) =>
  h("section", { ...attributes, class: `card ${attributes?.class ?? ""}` }, title && h("h2", {}, title), ...children);

const pre = (text, attributes) => h("pre", attributes ?? {}, text);
const command = (text) => h("code", { class: "cmd" }, text);

function table(headings, rows, kind) {
  const row = (tag, cells) => h("tr", {}, cells.map((cell) => h(tag, {}, cell)));
  return h("div", { class: "scroll" }, h("table", { class: kind ?? "list" }, h("thead", {}, row("th", headings)), h("tbody", {}, rows.map((cells) => row("td", cells)))));
}

// A plot: its sentence, the drawing, how to read it, the exact values.
function plot(of) {
  return h("figure", { class: "plot-box", id: `plot-${of.id}` },
    h("figcaption", {}, of.title),
    of.svg && drawing(of.svg),
    of.note && h("p", { class: "plot-note" }, of.note),
    of.table.rows.length > 0 && h("details", {}, h("summary", {}, "Values"), table(of.table.headings, of.table.rows, "values")));
}
