// The card of one node, beside its cell.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { FullBar } from "../parts/bars.js";
import { useDocument } from "../source.js";
import { useRoute } from "../router.js";
import { bars, flagWords, strandedSentence } from "./shares.js";

/** Whose pods are on it is asked of the server when a card stays this long, in milliseconds. */
const ASK_MS = 250;

/** @param {{nodes: any, node: number, box: {x: number, y: number, size: number}|null, frame: HTMLElement, kept: boolean}} props */
export function Card({ nodes, node, box, frame, kept }) {
  const card = useRef(null);
  const name = nodes.names[node];
  const owners = useOwners(name);
  useLayoutEffect(() => {
    if (!box || !card.current) return;
    const { x, y } = beside(box, frame, card.current);
    card.current.style.setProperty("--x", `${x}px`);
    card.current.style.setProperty("--y", `${y}px`);
  });
  if (!box) return null;
  const words = [
    nodes.poolNames[nodes.pools[node]],
    `${nodes.pods[node]} pods`,
    owners,
    ...flagWords(nodes.flags[node]),
  ];
  const sentence = strandedSentence(nodes, node);
  return html`<div class=${`map-card ${kept ? "kept" : ""}`} ref=${card} role="status">
    <p class="top-line"><b>${name}</b>
      <span class="soft small">${nodes.zoneNames[nodes.zones[node]]}</span></p>
    <p class="tiny soft">${words.filter(Boolean).join(" · ")}</p>
    <dl>${bars(nodes, node).map(
      ([word, share, text]) => html`<div key=${word}><dt>${word}</dt>
      <${FullBar} share=${share} /><dd class="number">${text}</dd></div>`,
    )}</dl>
    ${sentence && html`<p class="sentence-line">${sentence}</p>`}
  </div>`;
}

function useOwners(name) {
  const [asked, ask] = useState(null);
  const { at } = useRoute().query;
  useEffect(() => {
    const timer = setTimeout(() => ask(name), ASK_MS);
    return () => clearTimeout(timer);
  }, [name]);
  const { doc } = useDocument(asked === name ? "node" : null, { name, at });
  return doc
    ? Object.entries(doc.profiles)
        .map(([profile, number]) => `${profile} ${number}`)
        .join(", ")
    : "";
}

/** Where the frame ends in sight: at its foot, or at the ribbon. */
function lowest(frame) {
  const ribbon = document.querySelector(".ribbon").getBoundingClientRect().top;
  return Math.min(frame.clientHeight, ribbon - frame.getBoundingClientRect().top - 8);
}

/** Right of the cell where there is room, else left of it; never out of the frame. */
function beside(box, frame, card) {
  const [width, height] = [card.offsetWidth, card.offsetHeight];
  const right = box.x + box.size + 10;
  const x = right + width <= frame.clientWidth ? right : Math.max(0, box.x - width - 10);
  return { x, y: Math.min(box.y - 20, lowest(frame) - height) };
}
