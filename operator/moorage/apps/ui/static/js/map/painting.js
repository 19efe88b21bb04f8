// Cells onto a canvas of device pixels: only rows that changed are painted again.
import { STEPS, stepOf } from "./scales.js";

/** Codes of cells that are no step of the scale. */
export const EMPTY = STEPS;
export const OUT = STEPS + 1;
export const NONE = STEPS + 2;
const FADED = 128;

/**
 * What each cell looks like. `brush`: [low, high] of shares that stay, others fade.
 * @returns {Uint8Array}
 */
export function codesOf({ shares, pods, flags, brush }) {
  const codes = new Uint8Array(shares.length);
  for (let i = 0; i < codes.length; i += 1) {
    const share = shares[i];
    let code = flags[i] ? OUT : Number.isNaN(share) ? NONE : pods[i] === 0 ? EMPTY : stepOf(share);
    if (brush && !(share >= brush[0] && share <= brush[1])) code |= FADED;
    codes[i] = code;
  }
  return codes;
}

/** Paints one layout; `paint` compares with what it painted before. */
export class CellPainter {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.context = canvas.getContext("2d", { alpha: true });
    this.canvas = canvas;
    this.layout = null;
    this.painted = null;
    this.rowsPainted = 0;
  }

  /** Another size: everything is painted anew by the next `paint`. */
  setLayout(layout) {
    this.layout = layout;
    this.painted = null;
    this.canvas.width = Math.max(1, layout.width);
    this.canvas.height = Math.max(1, layout.height);
  }

  /** Other colours: the same. */
  forget() {
    this.painted = null;
  }

  /** @param {Uint8Array} codes @param {{scale: string[], line: string, bad: string, none: string}} palette */
  paint(codes, palette) {
    this.rowsPainted = 0;
    for (const block of this.layout.blocks) {
      for (let row = 0; row < block.rows; row += 1) {
        if (!this.painted || this.#changed(block, row, codes))
          this.#row(block, row, codes, palette);
      }
    }
    this.painted = codes;
  }

  #changed(block, row, codes) {
    const end = Math.min(block.nodes.length, (row + 1) * block.columns);
    for (let i = row * block.columns; i < end; i += 1) {
      if (codes[block.nodes[i]] !== this.painted[block.nodes[i]]) return true;
    }
    return false;
  }

  #row(block, row, codes, palette) {
    const { pitch, cell } = this.layout;
    const y = block.y + row * pitch;
    this.context.clearRect(block.x, y, block.columns * pitch, pitch);
    this.rowsPainted += 1;
    const end = Math.min(block.nodes.length, (row + 1) * block.columns);
    for (let i = row * block.columns; i < end; i += 1) {
      const x = block.x + (i % block.columns) * pitch;
      this.#cell(codes[block.nodes[i]], x, y, cell, palette);
    }
  }

  #cell(code, x, y, size, palette) {
    const { context } = this;
    context.globalAlpha = code & FADED ? 0.16 : 1;
    const plain = code & ~FADED;
    if (plain < STEPS || plain === NONE) {
      context.fillStyle = plain === NONE ? palette.none : palette.scale[plain];
      context.fillRect(x, y, size, size);
    } else {
      outline(context, x, y, size, plain === OUT ? palette.bad : palette.line, this.layout.ratio);
      if (plain === OUT) slash(context, x, y, size, palette.bad, this.layout.ratio);
    }
    context.globalAlpha = 1;
  }
}

function outline(context, x, y, size, colour, ratio) {
  const width = Math.max(1, Math.round(ratio));
  context.fillStyle = colour;
  context.fillRect(x, y, size, width);
  context.fillRect(x, y + size - width, size, width);
  context.fillRect(x, y, width, size);
  context.fillRect(x + size - width, y, width, size);
}

function slash(context, x, y, size, colour, ratio) {
  context.strokeStyle = colour;
  context.lineWidth = Math.max(1, ratio);
  context.beginPath();
  context.moveTo(x + 0.5, y + size - 0.5);
  context.lineTo(x + size - 0.5, y + 0.5);
  context.stroke();
}

/** The ring of the cell that is pointed at, and of the one that is chosen. */
export class RingPainter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.drawn = [];
  }

  setSize(layout) {
    this.canvas.width = Math.max(1, layout.width);
    this.canvas.height = Math.max(1, layout.height);
    this.drawn = [];
  }

  /** @param {{x: number, y: number, colour: string}[]} rings */
  draw(rings, { cell, ratio }) {
    const edge = Math.round(2 * ratio);
    for (const ring of this.drawn) {
      this.context.clearRect(
        ring.x - 2 * edge,
        ring.y - 2 * edge,
        cell + 4 * edge,
        cell + 4 * edge,
      );
    }
    for (const { x, y, colour } of rings) {
      this.context.strokeStyle = colour;
      this.context.lineWidth = edge;
      this.context.strokeRect(x - edge / 2, y - edge / 2, cell + edge, cell + edge);
    }
    this.drawn = rings;
  }
}
