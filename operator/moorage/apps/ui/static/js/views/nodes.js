// All nodes: the map, its legend, where room is stranded; or the same as a table.
import { html, useState } from "../html.js";
import { useKeys } from "../keys.js";
import { choices, flagWords } from "../map/shares.js";
import { Legend } from "../map/legend.js";
import { NodeMap } from "../map/map.js";
import { NodeTable } from "../map/table.js";
import { Choice } from "../parts/choices.js";
import { Head, Lead } from "../parts/lead.js";
import { Shown } from "../parts/states.js";
import { go, href, withQuery } from "../router.js";
import { Shell } from "../shell.js";
import { useDocument } from "../source.js";
import { amount, count, resourceName } from "../words.js";

const GROUPS = [
  ["zone", "Zone"],
  ["pool", "Pool"],
];

export function Nodes(shared) {
  const { at, route, overview } = shared;
  const entry = useDocument("nodes", { at });
  const side = overview && `${count(overview.nodes)} nodes${at || !overview.live ? "" : " · live"}`;
  return html`<${Shell} view="nodes" title="Nodes" wide ...${shared} tools=${html`<span
    class="soft small nowrap top-side">${side}</span>`}>
    <${Shown} entry=${entry} rows=${10} what="the nodes">${(nodes) => html`<${Content}
      nodes=${nodes} query=${route.query} />`}<//><//>`;
}

function Content({ nodes, query }) {
  const [brush, setBrush] = useState(null);
  const by = query.by || "cpu";
  const group = query.group || "zone";
  const table = query.as === "table";
  const change = (changes) => go(withQuery(changes), { replace: true });
  const color = (key) => {
    setBrush(null);
    change({ by: key === "cpu" ? "" : key });
  };
  const options = choices(nodes);
  const keyed = { 1: "cpu", 2: "memory", 3: "gpu", 4: "pods", 5: "fragmentation" };
  useKeys({
    t: () => change({ as: table ? "" : "table" }),
    ...Object.fromEntries(
      Object.entries(keyed).map(([key, value]) => [
        key,
        () => options.some(([one]) => one === value) && color(value),
      ]),
    ),
  });
  if (!nodes.names.length)
    return html`<${Lead} sentence=${nodes.answer}
    under="A map of them is here as soon as the first one registers." />`;
  const chosen = query.node ? nodes.names.indexOf(query.node) : -1;
  return html`<${Lead} sentence=${nodes.answer} />
    <div class="tools"><${Choice} label="Colour by" options=${options} value=${by}
      onChoose=${color} />
      ${
        !table &&
        html`<${Choice} label="Group by" options=${GROUPS} value=${group}
        onChoose=${(key) => change({ group: key === "zone" ? "" : key })} />`
      }
      <${Choice} label="Show as" options=${[
        ["map", "Map"],
        ["table", "Table"],
      ]}
        value=${table ? "table" : "map"}
        onChoose=${(key) => change({ as: key === "map" ? "" : key })} /></div>
    ${
      table
        ? html`<${NodeTable} nodes=${nodes} />`
        : html`<div class="with-side">
      <${NodeMap} nodes=${nodes} by=${by} group=${group} brush=${brush} chosen=${chosen}
        label="Map of nodes: arrow keys move, Enter opens"
        onChoose=${(node) => change({ node: node < 0 ? "" : nodes.names[node] })}
          onOpen=${(node) => go(href(`nodes/${nodes.names[node]}`))} />
      <div class="stack"><${Legend} nodes=${nodes} by=${by} brush=${brush} onBrush=${setBrush} />
        <${Stranded} nodes=${nodes} />
        <p class="small quiet hints">Arrow keys move, <kbd>Enter</kbd> opens a node, <kbd>t</kbd> shows a table, <kbd>+</kbd> <kbd>-</kbd> come closer.</p>
          </div>
    </div>`
    }`;
}

function Stranded({ nodes }) {
  if (!nodes.stranded.length) return null;
  return html`<section><h2 class="strong side-title">Where room is stranded</h2><div class="card">
    <dl class="facts">${nodes.stranded.map(
      (one) => html`<div key=${one.resource + one.text}>
    <dt>${one.text}<span class="second">${count(one.nodes)} nodes</span></dt><dd class="number">
      <b>${amount(one.resource, one.amount)}</b>
      <span class="second">of ${amount(one.resource, one.free)} free</span></dd></div>`,
    )}</dl>
      </div></section>`;
}
