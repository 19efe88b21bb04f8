// The map of nodes: what is pointed at and chosen, its keys, its labels and its card.
import { html, useEffect, useMemo, useRef, useState } from "../html.js";
import { useKeys } from "../keys.js";
import { useTheme } from "../theme.js";
import { count, percent } from "../words.js";
import { CanvasMap } from "./canvas_map.js";
import { Card } from "./card.js";
import { neighbour } from "./layout.js";
import { sharesOf } from "./shares.js";
import { followPointers } from "./view.js";

/** How long a pointer rests on a cell until its card is shown, in milliseconds. */
const CARD_MS = 80;

/**
 * @param {{nodes: any, by: string, group: string, brush?: [number, number]|null, chosen?: number,
 *   onChoose?: (node: number) => void, onOpen?: (node: number) => void, bare?: boolean, label: string}} props
 * `bare`: without labels, keys and zoom, as a picture beside others.
 */
export function NodeMap({
  nodes,
  by,
  group,
  brush = null,
  chosen = -1,
  onChoose,
  onOpen,
  bare = false,
  label,
}) {
  const elements = {
    frame: useRef(null),
    layer: useRef(null),
    cells: useRef(null),
    rings: useRef(null),
  };
  const map = useRef(null);
  const theme = useTheme();
  const [layout, setLayout] = useState(null);
  const [pointed, setPointed] = useState(-1);
  const shares = useMemo(() => sharesOf(nodes, by), [nodes, by]);

  useEffect(() => {
    const found = Object.fromEntries(
      Object.entries(elements).map(([name, ref]) => [name, ref.current]),
    );
    map.current = new CanvasMap(found, setLayout);
    const observer = new ResizeObserver(() => map.current.lay());
    observer.observe(found.frame);
    return () => observer.disconnect();
  }, []);
  useEffect(
    () => map.current.setNodes(nodes, group, bare ? { labels: false, cell: 5 } : {}),
    [nodes, group, bare],
  );
  useEffect(() => {
    const scale = by === "fragmentation" ? "fragmentation" : "amount";
    map.current.setShares({ shares, pods: nodes.pods, flags: nodes.flags, brush }, scale, theme);
  }, [shares, nodes, brush, theme, by]);
  useEffect(() => {
    map.current.chosen = chosen;
    map.current.repaint();
  }, [chosen]);
  usePointers({ map, frame: elements.frame, setPointed, onChoose, bare });
  useMapKeys({ map, chosen, onChoose, onOpen, bare });

  const shown = pointed >= 0 ? pointed : chosen;
  return html`<div class=${`map ${bare ? "bare" : ""}`}>
    <div class="map-frame" ref=${elements.frame} tabindex=${bare ? undefined : 0} role="group"
      aria-label=${label}>
      <div class="map-layer" ref=${elements.layer}>
        <canvas ref=${elements.cells} role="img" aria-label=${summary(nodes, shares)}></canvas>
        <canvas ref=${elements.rings} aria-hidden="true"></canvas>
        ${
          layout &&
          !bare &&
          html`<${Labels} layout=${layout} nodes=${nodes} group=${group}
          shares=${shares} />`
        }
      </div>
    </div>
    ${
      layout &&
      !bare &&
      shown >= 0 &&
      shown < nodes.names.length &&
      html`<${Card} nodes=${nodes}
      node=${shown} box=${map.current.cellBox(shown)}
      frame=${elements.frame.current} kept=${pointed < 0} />`
    }
  </div>`;
}

const mean = (shares, indices) => {
  const known = indices.filter((i) => !Number.isNaN(shares[i]));
  return known.length ? known.reduce((sum, i) => sum + shares[i], 0) / known.length : null;
};

const summary = (nodes, shares) =>
  `${count(nodes.names.length)} nodes, on average ${percent(mean(shares, [...shares.keys()]), 0)}; the table has the same.`;

/** Names and counts above the groups. They move with the cells. */
function Labels({ layout, nodes, group, shares }) {
  const [outer, inner] =
    group === "pool" ? [nodes.poolNames, nodes.zoneNames] : [nodes.zoneNames, nodes.poolNames];
  const at = (x, y, width) => ({
    "--x": `${x / layout.ratio}px`,
    "--y": `${y / layout.ratio}px`,
    "--width": `${width / layout.ratio}px`,
  });
  const all = (index) =>
    layout.blocks.filter((block) => block.outer === index).flatMap((block) => [...block.nodes]);
  return html`<div class="map-labels" aria-hidden="true">
    ${layout.headings.map(
      ({ index, x, y, width, count: number }) => html`<p key=${`h${index}`}
      class="heading" style=${at(x, y, width)}>
      <b>${outer[index] || "no zone"}</b>
        <span class="soft">${count(number)} nodes · ${percent(mean(shares, all(index)), 0)}</span>
        </p>`,
    )}
    ${layout.blocks.map(
      (block) => html`<p key=${`${block.outer} ${block.inner}`}
      style=${at(block.x, block.y - 18 * layout.ratio, block.columns * layout.pitch)}>
      ${inner[block.inner] || "no pool"} <span>${count(block.nodes.length)}</span></p>`,
    )}
  </div>`;
}

function usePointers({ map, frame, setPointed, onChoose, bare }) {
  const latest = useRef(onChoose);
  latest.current = onChoose;
  useEffect(() => {
    const element = frame.current;
    if (bare) return undefined;
    let timer = 0;
    const point = (event) => {
      const node = event.buttons ? -1 : map.current.nodeUnder(event);
      if (node === map.current.pointed) return;
      map.current.pointed = node;
      map.current.repaint();
      clearTimeout(timer);
      timer = setTimeout(() => setPointed(node), node < 0 ? 0 : CARD_MS);
    };
    const leave = () => {
      clearTimeout(timer);
      map.current.pointed = -1;
      map.current.repaint();
      setPointed(-1);
    };
    const wheel = (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = element.getBoundingClientRect();
      map.current.zoomBy(
        event.deltaY < 0 ? 1 : -1,
        event.clientX - box.left,
        event.clientY - box.top,
      );
    };
    element.addEventListener("pointermove", point);
    element.addEventListener("pointerleave", leave);
    element.addEventListener("wheel", wheel, { passive: false });
    const stop = followPointers(element, {
      canDrag: () => map.current.zoom > 1,
      onDrag: (dx, dy) => map.current.move(dx, dy),
      onPinch: (direction, x, y) => {
        const box = element.getBoundingClientRect();
        map.current.zoomBy(direction, x - box.left, y - box.top);
      },
      onTap: (event) => latest.current?.(map.current.nodeUnder(event)),
    });
    return () => {
      clearTimeout(timer);
      element.removeEventListener("pointermove", point);
      element.removeEventListener("pointerleave", leave);
      element.removeEventListener("wheel", wheel);
      stop();
    };
  }, [bare]);
}

function useMapKeys({ map, chosen, onChoose, onOpen, bare }) {
  const step = (dx, dy) => (event) => {
    if (bare || !onChoose || event.target.closest?.("a, button, input, [role=slider]"))
      return false;
    const node =
      chosen < 0
        ? (map.current.layout.blocks[0]?.nodes[0] ?? -1)
        : neighbour(map.current.layout, chosen, dx, dy);
    onChoose(node);
    map.current.reveal(node);
    return true;
  };
  useKeys({
    ArrowLeft: step(-1, 0),
    ArrowRight: step(1, 0),
    ArrowUp: step(0, -1),
    ArrowDown: step(0, 1),
    "+": () => !bare && map.current.zoomBy(1),
    "=": () => !bare && map.current.zoomBy(1),
    "-": () => !bare && map.current.zoomBy(-1),
    Enter: () => !bare && chosen >= 0 && Boolean(onOpen?.(chosen) ?? true),
    Escape: () => !bare && chosen >= 0 && Boolean(onChoose?.(-1) ?? true),
  });
}
