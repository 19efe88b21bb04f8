// Where the map is looked at from: how close, and how far it is dragged. No drawing in here.

export const ZOOMS = [1, 1.5, 2, 3];

/** Keep a dragged layer where some of it is in sight. All in CSS pixels. */
export function kept({ x, y }, layer, frame) {
  return {
    x: Math.min(0, Math.max(Math.min(0, frame.width - layer.width), x)),
    y: Math.min(0, Math.max(Math.min(0, frame.height - layer.height), y)),
  };
}

/** The next zoom in a direction. */
export function stepped(zoom, direction) {
  const at = ZOOMS.findIndex((one) => one >= zoom - 0.01);
  return ZOOMS[Math.max(0, Math.min(ZOOMS.length - 1, at + direction))];
}

/** The offset that keeps the point (px, py) of the frame where it is when the zoom changes. */
export const around = ({ x, y }, factor, px, py) => ({
  x: px - (px - x) * factor,
  y: py - (py - y) * factor,
});

/** Drag with one pointer, zoom with two: calls `onDrag(dx, dy)`, `onPinch(direction, x, y)`. */
export function followPointers(element, { canDrag, onDrag, onPinch, onTap }) {
  const down = new Map();
  let apart = 0;
  let moved = 0;
  const listeners = {
    pointerdown(event) {
      down.set(event.pointerId, event);
      moved = 0;
      apart = distance(down);
    },
    pointermove(event) {
      const before = down.get(event.pointerId);
      if (!before) return;
      const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
      down.set(event.pointerId, event);
      moved += Math.abs(dx) + Math.abs(dy);
      if (down.size === 2) pinched(event);
      else if (canDrag() && moved > 3) {
        element.setPointerCapture(event.pointerId);
        onDrag(dx, dy);
      }
    },
    pointerup(event) {
      if (down.delete(event.pointerId) && moved <= 3) onTap(event);
    },
    pointercancel(event) {
      down.delete(event.pointerId);
    },
    pointerleave(event) {
      if (!element.hasPointerCapture(event.pointerId)) down.delete(event.pointerId);
    },
  };
  function pinched(event) {
    const now = distance(down);
    const ratio = now / apart;
    if (ratio < 1.25 && ratio > 0.8) return;
    onPinch(ratio > 1 ? 1 : -1, event.clientX, event.clientY);
    apart = now;
  }
  for (const [name, listener] of Object.entries(listeners))
    element.addEventListener(name, listener);
  return () => {
    for (const [name, listener] of Object.entries(listeners))
      element.removeEventListener(name, listener);
  };
}

function distance(down) {
  if (down.size !== 2) return 0;
  const [a, b] = [...down.values()];
  return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) || 1;
}
