// Where each cell is: pure, in device pixels, so that the pitch is whole and nothing shimmers.

/** Sizes in CSS pixels. */
export const GAP = 1;
const BETWEEN = 24;
const HEADING = 24;
const LABEL = 18;
const AFTER_BLOCK = 6;

/** A cell's side: with its gap 6 on phones, 10 on desks, 14 on walls; larger where there is room. */
export const cellSize = (windowWidth) => (windowWidth <= 720 ? 5 : windowWidth > 2000 ? 13 : 9);
const LARGER = [27, 19, 13];
/** A column of groups is at least this wide; without labels half of that. */
const narrowest = (windowWidth) => (windowWidth <= 720 ? 84 : 130);

/**
 * @typedef {{outer: number, inner: number, x: number, y: number, columns: number, rows: number,
 *   nodes: Int32Array}} Block
 * @typedef {{blocks: Block[], headings: {index: number, x: number, y: number, width: number, count: number}[],
 *   width: number, height: number, pitch: number, cell: number, ratio: number}} Layout
 */

/** Nodes by two indices, in the order of names: Map outer -> Map inner -> indices. */
export function grouped(outer, inner) {
  const groups = new Map();
  for (let i = 0; i < outer.length; i += 1) {
    if (!groups.has(outer[i])) groups.set(outer[i], new Map());
    const within = groups.get(outer[i]);
    if (!within.has(inner[i])) within.set(inner[i], []);
    within.get(inner[i]).push(i);
  }
  return groups;
}

/** How many columns of groups, and of cells in each: of the map at its natural size. */
export function fitted({ count, width, windowWidth, cell, labels = true }) {
  const between = windowWidth <= 720 || !labels ? 10 : BETWEEN;
  const least = narrowest(windowWidth) / (labels ? 1 : 2);
  const fitting = Math.max(1, Math.floor((width + between) / (least + between)));
  const rows = Math.ceil(count / fitting);
  const across = Math.max(1, Math.ceil(count / rows));
  const groupWidth = (width - between * (across - 1)) / across;
  return { across, between, columns: Math.max(4, Math.floor((groupWidth + GAP) / (cell + GAP))) };
}

/**
 * Lay out groups of groups. `zoom` makes cells larger and keeps their order in rows.
 * @returns {Layout}
 */
export function layOut({
  groups,
  width,
  windowWidth,
  ratio,
  zoom = 1,
  cell: natural = cellSize(windowWidth),
  labels = true,
}) {
  const { across, between, columns } = fitted({
    count: groups.size,
    width,
    windowWidth,
    cell: natural,
    labels,
  });
  const pitch = Math.max(2, Math.round((natural + GAP) * zoom * ratio));
  const gap = Math.max(1, Math.round(GAP * ratio));
  const groupWidth = columns * pitch;
  const step = Math.max(groupWidth, 0) + Math.round(between * ratio);
  const place = { x: 0, top: 0, y: 0, bottom: 0, n: 0 };
  const layout = { blocks: [], headings: [], width: 0, height: 0, pitch, cell: pitch - gap, ratio };
  for (const outer of [...groups.keys()].sort((a, b) => a - b)) {
    if (place.n && place.n % across === 0) place.top = place.bottom + Math.round(16 * ratio);
    place.x = (place.n % across) * step;
    column({ layout, place, inner: groups.get(outer), outer, columns, groupWidth, labels });
    place.n += 1;
  }
  layout.height = place.bottom;
  return layout;
}

/** The largest cells with which all nodes are in sight, `room` CSS pixels high; else the usual ones. */
export function cellFor({ groups, width, windowWidth, room }) {
  const fits = (cell) => layOut({ groups, width, windowWidth, ratio: 1, cell }).height <= room;
  return LARGER.find((cell) => cell > cellSize(windowWidth) && fits(cell)) || cellSize(windowWidth);
}

function column({ layout, place, inner, outer, columns, groupWidth, labels }) {
  const { ratio, pitch } = layout;
  let y = place.top;
  let count = 0;
  const heading = { index: outer, x: place.x, y, width: groupWidth, count: 0 };
  y += Math.round((labels ? HEADING : 0) * ratio);
  for (const index of [...inner.keys()].sort((a, b) => a - b)) {
    const nodes = Int32Array.from(inner.get(index));
    y += Math.round((labels ? LABEL : 0) * ratio);
    const rows = Math.ceil(nodes.length / columns);
    layout.blocks.push({ outer, inner: index, x: place.x, y, columns, rows, nodes });
    y += rows * pitch + Math.round((labels ? AFTER_BLOCK : 8) * ratio);
    count += nodes.length;
  }
  heading.count = count;
  layout.headings.push(heading);
  place.bottom = Math.max(place.bottom, y);
  layout.width = Math.max(layout.width, place.x + groupWidth);
}

/** The node at a place in device pixels, -1 where there is none. */
export function nodeAt(layout, x, y) {
  for (const block of layout.blocks) {
    const column = Math.floor((x - block.x) / layout.pitch);
    const row = Math.floor((y - block.y) / layout.pitch);
    if (column >= 0 && column < block.columns && row >= 0 && row < block.rows) {
      return block.nodes[row * block.columns + column] ?? -1;
    }
  }
  return -1;
}

/** Where a node's cell is, in device pixels; null where it is not shown. */
export function placeOf(layout, node) {
  for (const block of layout.blocks) {
    const i = block.nodes.indexOf(node);
    if (i >= 0) {
      return {
        x: block.x + (i % block.columns) * layout.pitch,
        y: block.y + Math.floor(i / block.columns) * layout.pitch,
      };
    }
  }
  return null;
}

/** The node one step away: within its block, else in the nearest one in that direction. */
export function neighbour(layout, node, dx, dy) {
  const from = placeOf(layout, node);
  if (!from) return layout.blocks[0]?.nodes[0] ?? -1;
  const half = layout.pitch / 2;
  for (let step = 1; step <= 120; step += 1) {
    const found = nodeAt(
      layout,
      from.x + half + dx * step * layout.pitch,
      from.y + half + dy * step * layout.pitch,
    );
    if (found >= 0) return found;
  }
  return node;
}
