"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
const DAY = 86400000;
const COLOURS = {
  person: "#3b6ea8", location: "#3f8f5f", organisation: "#c9772b", work: "#8a5aa8",
  product: "#2b8c99", event: "#c0504d", other: "#8a939c",
};
const date = (time) => new Date(time).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
const make = (tag, text = "", className = "") => {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
};
const byId = new Map(data.nodes.map((node) => [node.id, node]));
const milliseconds = (text) => (text ? Date.parse(text) : null);
const facts = data.edges.map((edge) => ({
  ...edge,
  from: milliseconds(edge.valid_from), to: milliseconds(edge.valid_to),
  learned: milliseconds(edge.known_from), unlearned: milliseconds(edge.known_to),
}));
const factByKey = new Map(facts.map((fact) => [fact.key, fact]));

// What a fact is at a moment of the world, as far as it was known on a day: "holds", "ended" or "" for not there.
function state(fact, valid, known) {
  if (fact.from > valid || fact.learned >= known) return "";
  const retracted = fact.to === null && fact.unlearned !== null;
  if (retracted) return fact.unlearned < known ? "" : "holds";
  const endKnown = fact.unlearned === null || fact.unlearned < known;
  return endKnown && fact.to !== null && fact.to <= valid ? "ended" : "holds";
}
const label = (fact) => `${fact.modality === "asserted" ? "" : fact.modality + ": "}${fact.negated ? "not " : ""}${fact.predicate}`;
const span = (fact) => {
  if (fact.to === null) return fact.unlearned === null ? `since ${date(fact.from)}` : `from ${date(fact.from)}; retracted ${date(fact.unlearned)}`;
  return `${date(fact.from)} to ${date(fact.to)}`;
};

// Stage: a circle to start from, so that the same graph always looks the same.
const radius = 60 * Math.sqrt(data.nodes.length + 1);
const view = cytoscape({
  container: find("graph"),
  elements: [
    ...data.nodes.map((node, at) => ({
      data: { id: node.id, label: node.name, colour: COLOURS[node.type] || COLOURS.other, size: 22 + 9 * Math.log2(1 + (node.mention_count || 0)) },
      position: { x: radius * Math.cos((2 * Math.PI * at) / data.nodes.length), y: radius * Math.sin((2 * Math.PI * at) / data.nodes.length) },
    })),
    ...facts.map((fact) => ({ data: { id: fact.key, source: fact.source, target: fact.target, label: label(fact) }, classes: fact.negated ? "negated" : "" })),
  ],
  style: [
    { selector: "node", style: { label: "data(label)", "background-color": "data(colour)", width: "data(size)", height: "data(size)", "font-size": 15, "font-weight": 600, color: "#1f2933", "text-valign": "bottom", "text-margin-y": 5, "text-wrap": "ellipsis", "text-max-width": 150, "text-outline-color": "#fbfaf7", "text-outline-width": 2.5, "border-width": 2, "border-color": "#ffffff" } },
    { selector: "edge", style: { label: "data(label)", width: 1.6, "curve-style": "bezier", "control-point-step-size": 46, "line-color": "#9aa5b1", "target-arrow-color": "#9aa5b1", "target-arrow-shape": "triangle", "arrow-scale": 0.9, "font-size": 13, color: "#52606d", "text-rotation": "autorotate", "text-outline-color": "#fbfaf7", "text-outline-width": 2.5, "min-zoomed-font-size": 7 } },
    { selector: "edge.negated", style: { "line-color": "#c0504d", "target-arrow-color": "#c0504d", color: "#a23b38" } },
    { selector: "edge.ended", style: { "line-style": "dashed", "line-dash-pattern": [6, 5], opacity: 0.5 } },
    { selector: ".away", style: { display: "none" } },
    { selector: ".faded", style: { opacity: 0.15 } },
    { selector: ":selected", style: { "border-color": "#1f2933", "line-color": "#2f5d8a", "target-arrow-color": "#2f5d8a", opacity: 1, width: (element) => (element.isNode() ? element.data("size") : 3) } },
  ],
  wheelSensitivity: 0.3,
});

const now = Date.now();
const first = facts.reduce((least, fact) => Math.min(least, fact.from), now) - DAY;
const days = (time) => Math.round((time - first) / DAY);
const moments = [...new Set(facts.flatMap((fact) => [fact.from, fact.to]).filter((time) => time !== null).map((time) => days(time) + 1))].sort((a, b) => a - b);
const valid = find("valid");
valid.max = Math.max(days(now) + 1, moments.at(-1) ?? 0);
valid.value = data.valid_at ? days(Date.parse(data.valid_at)) : days(now) + 1;
find("memory").textContent = data.memory;

function moment() {
  const day = find("known").value;
  return { valid: first + Number(valid.value) * DAY, known: day ? Date.parse(day) + DAY : Infinity };
}

function show() {
  const at = moment();
  find("valid-text").textContent = date(at.valid);
  const seen = new Set();
  let holding = 0;
  view.batch(() => {
    for (const fact of facts) {
      const is = state(fact, at.valid, at.known);
      const there = is === "holds" || (is === "ended" && find("ended").checked);
      view.getElementById(fact.key).toggleClass("away", !there).toggleClass("ended", is === "ended");
      if (there) seen.add(fact.source).add(fact.target);
      if (is === "holds") holding += 1;
    }
    view.nodes().forEach((node) => { node.toggleClass("away", !seen.has(node.id())); });
  });
  find("counts").textContent = `${holding} facts hold, ${seen.size} names shown${data.left_out ? `; ${data.left_out} older facts are left out` : ""}`;
  const chosen = view.$(":selected");
  if (chosen.nonempty()) details(chosen[0]);
}

function factLine(fact) {
  const at = moment();
  const line = make("p", `${byId.get(fact.source).name} — ${label(fact)} — ${byId.get(fact.target).name}`, "fact");
  if (state(fact, at.valid, at.known) !== "holds") line.classList.add("past");
  line.append(make("small", span(fact)));
  line.onclick = () => choose(view.getElementById(fact.key));
  return line;
}

function details(element) {
  const panel = find("details");
  panel.replaceChildren();
  if (element.isNode()) {
    const node = byId.get(element.id());
    panel.append(make("h2", node.name), make("p", `${node.type}, mentioned ${node.mention_count} ${node.mention_count === 1 ? "time" : "times"}`, "kind"));
    if (node.aliases.length) panel.append(make("h3", "Also"), make("p", node.aliases.join(", ")));
    panel.append(make("h3", "Facts"));
    const own = facts.filter((fact) => fact.source === node.id || fact.target === node.id);
    own.sort((a, b) => b.from - a.from).forEach((fact) => panel.append(factLine(fact)));
    return;
  }
  const fact = factByKey.get(element.id());
  panel.append(make("h2", `${byId.get(fact.source).name} ${label(fact)} ${byId.get(fact.target).name}`), make("p", span(fact), "kind"));
  panel.append(make("h3", "Believed"), make("p", `known since ${date(fact.learned)}${fact.unlearned ? `; its end since ${date(fact.unlearned)}` : ""}`));
  panel.append(make("h3", "Said in"));
  for (const id of fact.source_ids) {
    const message = data.messages[id];
    const quote = make("blockquote", message ? message.text : "");
    quote.append(make("small", message ? `${message.name}, ${date(Date.parse(message.time))} · ${id}` : id));
    panel.append(quote);
  }
}

function choose(element) {
  view.elements().unselect().removeClass("faded");
  if (element.empty()) return;
  element.select();
  const near = element.isNode() ? element.closedNeighborhood() : element.union(element.connectedNodes());
  view.elements().difference(near).addClass("faded");
  details(element);
}

for (const name of [...new Set(data.nodes.flatMap((node) => [node.name, ...node.aliases]))].sort()) {
  const option = make("option");
  option.value = name;
  find("names").append(option);
}
for (const type of Object.keys(COLOURS).filter((one) => data.nodes.some((node) => node.type === one))) {
  const item = make("li");
  const dot = make("i");
  dot.style.background = COLOURS[type];
  item.append(dot, type);
  find("legend").append(item);
}
for (const [name, style, colour] of [["holds", "solid", "#9aa5b1"], ["has ended", "dashed", "#9aa5b1"], ["is not so", "solid", "#c0504d"]]) {
  const item = make("li");
  const line = make("i", "", "edge");
  line.style.borderTopStyle = style;
  line.style.borderTopColor = colour;
  item.append(line, name);
  find("legend").append(item);
}

view.on("tap", (event) => (event.target === view ? choose(view.collection()) : choose(event.target)));
function search() {
  const wanted = find("search").value.trim().toLowerCase();
  const names = (node) => [node.name, ...node.aliases].map((name) => name.toLowerCase());
  const found = wanted && (data.nodes.find((node) => names(node).includes(wanted)) || data.nodes.find((node) => names(node).some((name) => name.startsWith(wanted))));
  const element = found ? view.getElementById(found.id) : view.collection();
  choose(element);
  return element;
}
find("search").addEventListener("input", () => {
  const element = search();
  if (element.nonempty()) view.animate({ center: { eles: element }, duration: 250 });
});
valid.addEventListener("input", show);
find("known").addEventListener("change", show);
find("ended").addEventListener("change", show);
find("back").onclick = () => { valid.value = Math.max(0, ...moments.filter((day) => day < Number(valid.value))); show(); };
find("on").onclick = () => { valid.value = Math.min(Number(valid.max), ...moments.filter((day) => day > Number(valid.value))); show(); };

show();
const many = data.nodes.length > 400;
// Two that many facts join are no nearer to each other for it: the layout sees one of them.
const pairs = new Map(view.edges().map((edge) => [[edge.source().id(), edge.target().id()].sort().join(), edge]));
const seen = view.collection([...pairs.values()]).union(view.nodes());
seen.layout(many ? { name: "concentric", concentric: (node) => node.degree(), levelWidth: () => 4, animate: false }
  : { name: "cose", randomize: false, animate: false, nodeRepulsion: () => 110000, nodeOverlap: 40, idealEdgeLength: () => 90, edgeElasticity: () => 60, gravity: 1.2, numIter: 1500, padding: 40 }).run();
view.fit(undefined, 40);
const start = new URLSearchParams(location.hash.slice(1)).get("show");
if (start) { find("search").value = start; search(); }
