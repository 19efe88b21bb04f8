// What the map shows of each node, as shares of 0 to 1 in a typed array made of the columns.
import { amount, resourceName } from "../words.js";

/** Bits of `flags` in the document Nodes. */
export const CORDONED = 1;
export const TAINTED = 2;
export const NOT_READY = 4;
const FLAG_WORDS = [
  [CORDONED, "cordoned"],
  [TAINTED, "tainted"],
  [NOT_READY, "not ready"],
];

export const flagWords = (flags) =>
  FLAG_WORDS.filter(([bit]) => flags & bit).map(([, word]) => word);

/** The first resource that is neither of the usual ones: of GPUs and the like. */
export const extended = (nodes) =>
  Object.keys(nodes.resources).find((name) => name.includes("/") && !name.startsWith("hugepages"));

/** What the map can be coloured by: [[key in the address, word]]. */
export function choices(nodes) {
  const device = extended(nodes);
  return [
    ["cpu", "CPU"],
    ["memory", "Memory"],
    ...(device ? [["gpu", resourceName(device)]] : []),
    ["pods", "Pods"],
    ["fragmentation", "Fragmentation"],
  ];
}

/**
 * Shares by node; NaN where a node has nothing of it. `fragmentation`: of a node's free room, what
 * pods as they are cannot use; of its devices where it has some, else of its cores.
 * @returns {Float32Array}
 */
export function sharesOf(nodes, by) {
  const device = extended(nodes);
  if (by === "fragmentation") return fragmentation(nodes, device);
  const name = by === "gpu" ? device : by;
  const column = nodes.resources[name];
  if (by === "pods")
    return Float32Array.from(nodes.pods, (number, i) => number / (column?.allocatable[i] || 110));
  if (!column) return new Float32Array(nodes.names.length).fill(NaN);
  return Float32Array.from(column.requested, (asked, i) =>
    column.allocatable[i] ? asked / column.allocatable[i] : NaN,
  );
}

function fragmentation(nodes, device) {
  const { cpu } = nodes.resources;
  const devices = nodes.resources[device];
  return Float32Array.from(nodes.names, (_, i) => {
    const column = devices?.allocatable[i] ? devices : cpu;
    const free = column.allocatable[i] - column.requested[i];
    return free > 0 ? column.stranded[i] / free : 0;
  });
}

/** How many shares fall into each of `bins` equal parts. @returns {number[]} */
export function histogram(shares, bins) {
  const found = new Array(bins).fill(0);
  for (const share of shares) {
    if (!Number.isNaN(share)) found[Math.min(bins - 1, Math.floor(share * bins))] += 1;
  }
  return found;
}

/** A node's resources for its card: [[word, share, "15.0 / 16"]]. */
export function bars(nodes, i) {
  const device = extended(nodes);
  const names = [
    "cpu",
    "memory",
    ...(device && nodes.resources[device].allocatable[i] ? [device] : []),
  ];
  const found = names.map((name) => {
    const { requested, allocatable } = nodes.resources[name];
    const [asked, all] = [requested[i], allocatable[i]];
    return [
      resourceName(name),
      all ? asked / all : 0,
      `${amount(name, asked)} / ${amount(name, all)}`,
    ];
  });
  if (found.length < 3) {
    const all = nodes.resources.pods?.allocatable[i] || 110;
    found.push(["Pods", nodes.pods[i] / all, `${nodes.pods[i]} / ${all}`]);
  }
  return found;
}

/** One sentence on what is free and of no use, "" where there is nothing. */
export function strandedSentence(nodes, i) {
  const device = extended(nodes);
  const name = device && nodes.resources[device].allocatable[i] ? device : "cpu";
  const { allocatable, requested, stranded } = nodes.resources[name];
  const free = allocatable[i] - requested[i];
  if (free <= 0) return "";
  const said = `${amount(name, free)} ${resourceName(name)} free`;
  const asked = waitingAsks(nodes, name);
  if (asked.length && asked[0] > free) {
    return `${said}. Waiting pods ask for ${asked.map((one) => amount(name, one)).join(" or ")}, so none of them can use this.`;
  }
  const share = stranded[i] / free;
  return share > 0.05
    ? `${said}, of which pods as they are cannot use ${amount(name, stranded[i])}.`
    : "";
}

/** What waiting pods ask for of a resource, the least first, three at most. */
function waitingAsks(nodes, name) {
  const asked = (nodes.classes || [])
    .filter((one) => one.waiting > 0 && one.asks[name] > 0)
    .map((one) => one.asks[name]);
  return [...new Set(asked)].sort((a, b) => a - b).slice(0, 3);
}
