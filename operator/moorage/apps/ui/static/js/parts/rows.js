// Tables: short ones whole, long ones with only the rows in sight. `j` and `k` move among rows.
import { classes, html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../html.js";
import {
  observeWindowOffset,
  observeWindowRect,
  Virtualizer,
  windowScroll,
} from "../../vendor/virtual-core/index.js";

/**
 * @typedef {{key: string, title: any, number?: boolean, phone?: "name"|"end"|"under"|"hidden",
 *   cell: (row: any, index: number) => any}} Column
 * `phone`: the cell's place where a row has two lines.
 */

const cellClass = ({ number, phone = "hidden", key }) =>
  classes(number && "number", `on-phone-${phone}`, `cell-${key}`);

function Headings({ columns }) {
  return html`<thead><tr>${columns.map(
    (column) => html`<th key=${column.key} scope="col"
    class=${cellClass(column)}>${column.title}</th>`,
  )}</tr></thead>`;
}

const cells = (columns, row, i) =>
  columns.map(
    (column) => html`<td key=${column.key} class=${cellClass(column)}>
    ${column.cell(row, i)}</td>`,
  );

/** A table that is drawn whole. */
export function Rows({ columns, rows, label, rowClass = () => "" }) {
  return html`<div class="card table"><table class="rows" aria-label=${label}>
    <${Headings} columns=${columns} />
    <tbody>${rows.map(
      (row, i) => html`<tr key=${row.key ?? i} class=${rowClass(row)}>
      ${cells(columns, row, i)}</tr>`,
    )}</tbody>
  </table></div>`;
}

/** Whether rows have two lines here. */
export function usePhone() {
  const query = useMemo(() => matchMedia("(max-width: 720px)"), []);
  const [phone, setPhone] = useState(query.matches);
  useEffect(() => {
    const listener = () => setPhone(query.matches);
    query.addEventListener("change", listener);
    return () => query.removeEventListener("change", listener);
  }, []);
  return phone;
}

/** The rows in sight of a list of `count`, each `height` px, as the window scrolls. */
function useVirtual({ count, height, body }) {
  const [, redraw] = useState(0);
  const again = () => redraw((turn) => turn + 1);
  const margin = body.current ? Math.round(body.current.getBoundingClientRect().top + scrollY) : 0;
  const options = {
    count,
    overscan: 12,
    estimateSize: () => height,
    scrollMargin: margin,
    onChange: again,
    getScrollElement: () => window,
    scrollToFn: windowScroll,
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    initialRect: { width: innerWidth, height: innerHeight },
    initialOffset: () => scrollY,
  };
  const [virtualizer] = useState(() => new Virtualizer(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => {
    virtualizer._willUpdate();
    virtualizer.measure();
    again();
  }, [count, height, margin]);
  return { virtualizer, margin };
}

/**
 * A table of any length; rows have one height. A row `{band: content}` spans all columns.
 * @param {{columns: Column[], rows: any[], label: string, rowClass?: (row: any) => string}} props
 */
export function VirtualRows({ columns, rows, label, rowClass = () => "" }) {
  const body = useRef(null);
  const height = usePhone() ? 52 : 36;
  const { virtualizer, margin } = useVirtual({ count: rows.length, height, body });
  const items = virtualizer.getVirtualItems();
  const before = items.length ? items[0].start - margin : 0;
  const after = items.length
    ? virtualizer.getTotalSize() - (items[items.length - 1].end - margin)
    : rows.length * height;
  return html`<div class="card table"><table class="rows fixed" aria-label=${label}
    aria-rowcount=${rows.length + 1}>
    <${Headings} columns=${columns} />
    <tbody ref=${body}>
      <${Pad} height=${before} columns=${columns.length} />
      ${items.map(
        ({ index }) => html`<${Row} key=${rows[index].key ?? index} row=${rows[index]}
        index=${index} columns=${columns} rowClass=${rowClass} />`,
      )}
      <${Pad} height=${after} columns=${columns.length} />
    </tbody></table></div>`;
}

function Row({ row, index, columns, rowClass }) {
  if (row.band) {
    return html`<tr class="band" aria-rowindex=${index + 2}>
      <th scope="rowgroup" colspan=${columns.length}>${row.band}</th></tr>`;
  }
  return html`<tr class=${rowClass(row)} aria-rowindex=${index + 2}>${cells(columns, row, index)}
    </tr>`;
}

/** Room of the rows that are out of sight. */
const Pad = ({ height, columns }) =>
  height > 0
    ? html`<tr class="pad" aria-hidden="true">
    <td colspan=${columns} style=${{ "--height": `${height}px` }}></td></tr>`
    : null;

/** Move the focus by rows: what is marked with data-row, in the order of the page. */
export function moveRow(step) {
  const all = [...document.querySelectorAll("main [data-row]")].filter((one) => one.offsetParent);
  if (!all.length) return false;
  const at = all.indexOf(document.activeElement);
  const next =
    all[
      at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step))
    ];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  return true;
}
