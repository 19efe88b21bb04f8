// Nodes against plugins: groups of nodes and where each ended, or the best nodes and their scores.
import { html, useState } from "../html.js";
import { count, counted, signed } from "../words.js";
import { FullBar } from "./bars.js";

/** NodeResourcesFit may break before Fit. */
export const Breakable = ({ name }) =>
  name.split(/(?<=[a-z])(?=[A-Z])/).map((part, i) => html`${i > 0 && html`<wbr />`}${part}`);

/** The words of a refusal that fit into its cell; all of them are its title. */
export function shortReason(reason) {
  const insufficient = /^Insufficient (\S+)$/.exec(reason);
  if (insufficient) return insufficient[1].split("/").pop();
  if (/unschedulable/i.test(reason)) return "cordoned";
  if (/taint/i.test(reason)) return "taint";
  if (/affinity|selector/i.test(reason)) return "label";
  return reason.split(/[ ,:]/)[0];
}

/** A group of refused nodes: what the nearest lack, one line each. */
const lacking = (near) =>
  Object.entries(near.lacks || {})
    .map(([name, amount]) => `${amount} ${name.split("/").pop()}`)
    .join(", ");

/**
 * Refusals: a group passed the plugins before the one that refused it.
 * @param {{plugins: string[], groups: any[], nodes: number, zones: Record<string, string>}} props
 */
export function RefusalMatrix({ plugins, groups, nodes, zones }) {
  const order = plugins.filter(
    (name) => groups.some((group) => group.plugin.split(" ").includes(name)) || plugins.length <= 7,
  );
  return html`<div class="scroll-x" tabindex="0" role="region" aria-label="Nodes and plugins">
    <table class="matrix refusals">
    <thead><tr><th scope="col">${counted(nodes, "node")}</th>${order.map(
      (name) => html`<th
      key=${name} scope="col" class="plugin"><${Breakable} name=${name} /></th>`,
    )}</tr></thead>
    ${groups.map(
      (group) => html`<${Group} key=${group.plugin + group.reasons.join()}
      group=${group} order=${order} zones=${zones} />`,
    )}
  </table></div>`;
}

function Group({ group, order, zones }) {
  const [open, setOpen] = useState((group.nearest || []).some(lacking));
  const nearest = group.nearest || [];
  const short = shortReason(group.reasons[0] || group.plugin);
  return html`<tbody>
    <tr><th scope="row">${
      nearest.length
        ? html`<button type="button" class="fold" aria-expanded=${open}
        onClick=${() => setOpen(!open)}><b>${count(group.nodes)}
        </b> ${group.nodes === 1 ? "node" : "nodes"}</button>`
        : html`<span class="fold"><b>${count(group.nodes)}
        </b> ${group.nodes === 1 ? "node" : "nodes"}</span>`
    }
      <span class="second">${group.reasons.join("; ")}</span></th>
      <${Passed} group=${group} order=${order} text=${short} /></tr>
    ${
      open &&
      nearest.map(
        (near) => html`<tr key=${near.node} class="near"><th scope="row">
      <span class="name">${near.node}</span>
      <span class="second">
        ${[zones[near.node], ...(near.details || [])].filter(Boolean).join(" · ")}</span></th>
      <${Passed} group=${group} order=${order}
        text=${lacking(near) ? `lacks ${lacking(near)}` : short} /></tr>`,
      )
    }
  </tbody>`;
}

/** Cells of a row: a dot for each plugin that let the nodes pass, words where they ended. */
function Passed({ group, order, text }) {
  const refusing = group.plugin.split(" ");
  const ended = order.findIndex((name) => refusing.includes(name));
  return order.map((name, i) => {
    if (refusing.includes(name))
      return html`<td key=${name}>
      <span class="refused" title=${group.reasons.join("; ")}>${text}</span></td>`;
    if (ended < 0 || i > ended) return html`<td key=${name}></td>`;
    return html`<td key=${name}><span class="dot"><span class="unseen">passed</span></span></td>`;
  });
}

/**
 * Scores: the first node is the one chosen; others are tinted where they differ.
 * @param {{scores: any[], weights: Record<string, number>, best: string[], zones: Record<string, string>}} props
 */
export function ScoreMatrix({ scores, weights, best, zones, node }) {
  const plugins = Object.keys(weights);
  const [first] = scores;
  const most = Math.max(1, ...scores.map((one) => one.total));
  return html`<div class="scroll-x" tabindex="0" role="region"
    aria-label="Scores of the best nodes"><table class="matrix scores">
    <thead><tr><th scope="col">Node</th>${plugins.map(
      (name) => html`<th key=${name} scope="col"
      class="plugin"><${Breakable} name=${name} /><br />× ${weights[name]}</th>`,
    )}
      <th scope="col" class="total">Total</th></tr></thead>
    <tbody>${scores.map(
      (one) => html`<tr key=${one.node}>
      <th scope="row"><span class="name">${one.node}</span> <span class="quiet tiny">
        ${zones[one.node]}</span>
        ${noteOf(one, { node, best, first })}</th>
      ${plugins.map(
        (name) => html`<td key=${name}><${Score} value=${one.scores[name] ?? 0}
        base=${first.scores[name] ?? 0} /></td>`,
      )}
      <td class="total"><${FullBar} share=${one.total / most} /><b>${count(one.total)}</b></td>
        </tr>`,
    )}</tbody>
  </table></div>`;
}

function noteOf(one, { node, best, first }) {
  if (one.node === node)
    return html`<span class="second is-ok">
    ${best.includes(node) && best.length > 1 ? "chosen by the tie-break" : "chosen"}</span>`;
  return one.total === first.total ? html`<span class="second">same total</span>` : null;
}

function Score({ value, base }) {
  if (value === base) return html`<span class=${value ? "" : "quiet"}>${count(value)}</span>`;
  return html`<span class=${`tint ${value > base ? "higher" : "lower"}`}>${count(value)} <span
    class="small soft">${signed(value - base)}</span></span>`;
}

/** On phones: each node's total, and where it differs from the node chosen. */
export function ScoreSums({ scores, best, node }) {
  const [first] = scores;
  const most = Math.max(1, ...scores.map((one) => one.total));
  const differing = (one) =>
    Object.keys(one.scores)
      .filter((name) => one.scores[name] !== (first.scores[name] ?? 0))
      .map((name) => `${name} ${signed(one.scores[name] - (first.scores[name] ?? 0))}`)
      .join(", ");
  return html`<ul class="sums">${scores.map(
    (one) => html`<li key=${one.node}>
    <b class="number">${count(one.total)}</b><span><span class="name">${one.node}</span>
    ${noteOf(one, { node, best, first }) || html`<span class="second">${differing(one)}</span>`}
      <${FullBar} share=${one.total / most} /></span></li>`,
  )}</ul>`;
}

/** On phones matrices are their sums: nodes, and why. */
export function RefusalSums({ groups }) {
  return html`<ul class="sums">${groups.map(
    (group) => html`<li
    key=${group.plugin + group.reasons.join()}><b class="number">${count(group.nodes)}</b>
    <span>${group.reasons.join("; ")}<span class="second">${group.plugin}</span></span></li>`,
  )}
    </ul>`;
}
