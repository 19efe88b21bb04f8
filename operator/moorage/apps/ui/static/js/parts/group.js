// The group of a pod that waits with it: what it needs, its members, and room that is held for it.
import { html } from "../html.js";
import { href } from "../router.js";
import { clock, count, counted } from "../words.js";
import { Command } from "./command.js";
import { Rows } from "./rows.js";

/** Members in sight; those without a node come first. */
const SHOWN = 12;

/** @param {{pod: any}} props */
export function Group({ pod }) {
  const { group, wait } = pod;
  const members = [...group.members].sort((a, b) => rank(a) - rank(b));
  const more = members.length - SHOWN;
  return html`<section class="stack" aria-labelledby="group"><div class="card padded">
    <h2 class="title" id="group">Its group, ${group.name}</h2>
    <p class="soft">${needs(group)} ${why(group)} <span class="small">${group.api}</span></p>
    ${held(group, wait) && html`<p><b>${held(group, wait)}</b></p>`}</div>
    <${Rows} label="Members of the group" rows=${members.slice(0, SHOWN).map((one) => ({ ...one, key: one.pod }))}
      rowClass=${(row) => (row.pod === pod.pod ? "here" : "")} columns=${COLUMNS} />
    ${more > 0 && html`<p class="small quiet">and ${count(more)} more</p>`}
    <${Command} text=${`moorage explain podgroup ${group.name}`} /></section>`;
}

const COLUMNS = [
  {
    key: "name",
    title: "Member",
    phone: "name",
    cell: (row) => html`<a class="name cut" data-row href=${href(`pods/${row.pod}`)}>${row.pod}</a>`,
  },
  {
    key: "node",
    title: "Node",
    phone: "end",
    cell: (row) =>
      row.node
        ? html`<a class="link" href=${href(`nodes/${row.node}`)}>${row.node}</a>`
        : html`<span class="soft">none</span>`,
  },
  {
    key: "why",
    title: "Why",
    phone: "under",
    cell: (row) => html`<span class="cut soft" title=${row.message}>
      ${row.message || (row.placed ? "is there" : "would go there")}</span>`,
  },
];

/** The pods that it is about come first. */
const rank = ({ node, placed }) => (placed ? 2 : node ? 1 : 0);

function needs({ gang, minCount, present, priority, topologyKey }) {
  const free = minCount == null ? "Nothing says how many are needed" : "Placed as far as it fits";
  const kind = gang ? `A gang: ${count(minCount)} are needed together` : free;
  const where = topologyKey ? `, in one ${topologyKey}` : "";
  const important = priority == null ? "" : ` Priority ${count(priority)}.`;
  return `${kind}${where}; ${counted(present, "member")} ${present === 1 ? "is" : "are"} here.${important}`;
}

function why({ members, placements }) {
  if (!placements.length) return "";
  const placed = members.filter((one) => one.placed).length;
  const best = Math.max(...placements.map((one) => one.members));
  return `${count(placed + best)} of ${count(members.length)} find a node.`;
}

/** @returns {string} "" where no room is held. */
function held({ roomHeldOn }, wait) {
  const nodes = new Set(roomHeldOn.map((one) => one.node)).size;
  const until = wait?.roomHeldUntil;
  if (!nodes && !until) return "";
  return `Room is held for it${nodes ? ` on ${counted(nodes, "node")}` : ""}${until ? `, until ${clock(until)} at the latest` : ""}.`;
}
