// The map as an object: two canvases in a layer, cells below and rings above, which move together.
// It holds what is drawn; the component in map.js tells it what that is.
import { token } from "../theme.js";
import { cellFor, grouped, layOut, nodeAt, placeOf } from "./layout.js";
import { CellPainter, codesOf, RingPainter } from "./painting.js";
import { colours } from "./scales.js";
import { around, kept, stepped } from "./view.js";

/** What stands above and below a map, in CSS pixels. */
const AROUND = 300;

export class CanvasMap {
  /**
   * @param {{frame: HTMLElement, layer: HTMLElement, cells: HTMLCanvasElement, rings: HTMLCanvasElement}} elements
   * @param {(layout: import("./layout.js").Layout) => void} onLayout told after each new layout
   */
  constructor(elements, onLayout) {
    Object.assign(this, elements);
    this.onLayout = onLayout;
    this.painter = new CellPainter(this.cells);
    this.ringPainter = new RingPainter(this.rings);
    this.zoom = 1;
    this.offset = { x: 0, y: 0 };
    this.pointed = -1;
    this.chosen = -1;
    this.waiting = 0;
  }

  /** What the cells are: a document Nodes, and by what its groups are made. */
  setNodes(nodes, group, options = {}) {
    const outer = group === "pool" ? nodes.pools : nodes.zones;
    const inner = group === "pool" ? nodes.zones : nodes.pools;
    this.groups = grouped(outer, inner);
    this.options = options;
    this.lay();
  }

  /** Lay out for the width there is; the height of the frame is that of the map at zoom 1. */
  lay() {
    const width = this.frame.clientWidth;
    if (!this.groups || !width) return;
    const ratio = devicePixelRatio || 1;
    const about = { groups: this.groups, width, windowWidth: innerWidth };
    const common = {
      ...about,
      ratio,
      cell: cellFor({ ...about, room: innerHeight - AROUND }),
      ...this.options,
    };
    this.layout = layOut({ ...common, zoom: this.zoom });
    const natural = this.zoom === 1 ? this.layout : layOut(common);
    this.frame.style.setProperty("--height", `${natural.height / ratio}px`);
    this.layer.style.setProperty("--width", `${this.layout.width / ratio}px`);
    this.layer.style.setProperty("--height", `${this.layout.height / ratio}px`);
    this.painter.setLayout(this.layout);
    this.ringPainter.setSize(this.layout);
    this.onLayout(this.layout);
    this.move(0, 0);
    this.repaint();
  }

  /** Shares by node, and what is faded: {shares, pods, flags, brush}, in the colours of `scale`. */
  setShares(shown, scale, theme) {
    this.shown = shown;
    const look = `${scale} ${theme}`;
    if (this.look !== look) {
      this.look = look;
      this.palette = {
        scale: colours(scale, theme),
        line: token("line-2"),
        bad: token("bad"),
        none: token("well"),
      };
      this.painter.forget();
    }
    this.repaint();
  }

  /** Paint with the next frame; more calls before it are one. */
  repaint() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      if (!this.layout || !this.shown || !this.palette) return;
      this.painter.paint(codesOf(this.shown), this.palette);
      this.ring();
    });
  }

  ring() {
    const rings = [
      [this.chosen, "text"],
      [this.pointed, "accent"],
    ]
      .map(([node, colour]) => [node >= 0 && placeOf(this.layout, node), colour])
      .filter(([place]) => place)
      .map(([place, colour]) => ({ ...place, colour: token(colour) }));
    this.ringPainter.draw(rings, this.layout);
  }

  /** Move by CSS pixels. */
  move(dx, dy) {
    const { ratio, width, height } = this.layout;
    const frame = { width: this.frame.clientWidth, height: this.frame.clientHeight };
    const wanted = { x: this.offset.x + dx, y: this.offset.y + dy };
    this.offset = kept(wanted, { width: width / ratio, height: height / ratio }, frame);
    this.layer.style.setProperty("--x", `${Math.round(this.offset.x)}px`);
    this.layer.style.setProperty("--y", `${Math.round(this.offset.y)}px`);
  }

  /** One step closer or further, around a point of the frame; whether that changed anything. */
  zoomBy(direction, x = this.frame.clientWidth / 2, y = this.frame.clientHeight / 2) {
    const zoom = stepped(this.zoom, direction);
    if (zoom === this.zoom || !this.layout) return false;
    this.offset = around(this.offset, zoom / this.zoom, x, y);
    this.zoom = zoom;
    this.frame.classList.toggle("closer", zoom > 1);
    this.lay();
    return true;
  }

  /** The node under a pointer's event, -1 for none. */
  nodeUnder(event) {
    if (!this.layout) return -1;
    const box = this.layer.getBoundingClientRect();
    const { ratio } = this.layout;
    return nodeAt(
      this.layout,
      (event.clientX - box.left) * ratio,
      (event.clientY - box.top) * ratio,
    );
  }

  /** Where a node's cell is in the frame, in CSS pixels; null where it is not shown. */
  cellBox(node) {
    const place = this.layout && placeOf(this.layout, node);
    if (!place) return null;
    const { ratio, cell } = this.layout;
    return {
      x: place.x / ratio + this.offset.x,
      y: place.y / ratio + this.offset.y,
      size: cell / ratio,
    };
  }

  /** Bring a node's cell into sight. */
  reveal(node) {
    const box = this.cellBox(node);
    if (!box) return;
    const { clientWidth, clientHeight } = this.frame;
    const by = (at, room) => (at < 0 ? 24 - at : at + box.size > room ? room - at - 24 : 0);
    this.move(by(box.x, clientWidth), by(box.y, clientHeight));
  }
}
