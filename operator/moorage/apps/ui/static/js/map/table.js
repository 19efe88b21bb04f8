// The map's content as a table, which is also what a screen reader gets.
import { html, useMemo, useState } from "../html.js";
import { VirtualRows } from "../parts/rows.js";
import { href } from "../router.js";
import { amount, count, percent, resourceName } from "../words.js";
import { extended, flagWords } from "./shares.js";

/** What rows can be ordered by. */
function ordersOf(nodes, names) {
  const share = (name) => (i) =>
    nodes.resources[name].requested[i] / (nodes.resources[name].allocatable[i] || Infinity);
  return {
    name: null,
    pods: (i) => nodes.pods[i],
    ...Object.fromEntries(names.map((name) => [name, share(name)])),
  };
}

export function NodeTable({ nodes }) {
  const names = ["cpu", "memory", extended(nodes)].filter((name) => name && nodes.resources[name]);
  const [order, setOrder] = useState({ by: "name", down: false });
  const rows = useMemo(() => ordered(nodes, names, order), [nodes, order]);
  const sortable = (key, word) => html`<button type="button" class="sort"
    aria-pressed=${order.by === key}
    onClick=${() => setOrder({ by: key, down: order.by === key ? !order.down : key !== "name" })}>
      ${word}<span aria-hidden="true">${order.by === key ? (order.down ? " ↓" : " ↑") : ""}</span>
      </button>`;
  return html`<${VirtualRows} label="Nodes" rows=${rows} columns=${[
    {
      key: "node",
      title: sortable("name", "Node"),
      phone: "name",
      cell: ({ i }) => html`<a
      class="name" data-row href=${href(`nodes/${nodes.names[i]}`)}>${nodes.names[i]}</a>`,
    },
    {
      key: "pool",
      title: "Pool",
      phone: "under",
      cell: ({ i }) =>
        [nodes.poolNames[nodes.pools[i]], nodes.zoneNames[nodes.zones[i]]]
          .filter(Boolean)
          .join(" · "),
    },
    ...names.map((name, n) => ({
      key: `r${n}`,
      title: sortable(name, resourceName(name)),
      number: true,
      phone: n ? "hidden" : "end",
      cell: ({ i }) => html`<${Share} column=${nodes.resources[name]} name=${name} i=${i} />`,
    })),
    {
      key: "pods",
      title: sortable("pods", "Pods"),
      number: true,
      cell: ({ i }) => count(nodes.pods[i]),
    },
    {
      key: "flags",
      title: "State",
      cell: ({ i }) => html`<span
      class=${nodes.flags[i] ? "is-bad" : "quiet"}>
      ${flagWords(nodes.flags[i]).join(", ") || (nodes.pods[i] ? "in use" : "empty")}</span>`,
    },
  ]} />`;
}

function ordered(nodes, names, { by, down }) {
  const rows = nodes.names.map((name, i) => ({ key: name, i }));
  const value = ordersOf(nodes, names)[by];
  if (value) rows.sort((a, b) => value(a.i) - value(b.i));
  return down ? rows.reverse() : rows;
}

function Share({ column, name, i }) {
  const [asked, all] = [column.requested[i], column.allocatable[i]];
  if (!all) return html`<span class="quiet">–</span>`;
  return html`${amount(name, asked)} <span class="quiet">/ ${amount(name, all)}
    </span> <span class="share">${percent(asked / all, 0)}</span>`;
}
