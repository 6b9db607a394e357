import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface TableColumn<R> {
  title: string;
  help?: string;
  width?: string; // of a grid's track
  cell: (row: R) => ComponentChildren;
}

export interface TableSort {
  column: number;
  down: boolean;
}

interface Props<R> {
  label: string;
  rows: R[];
  columns: TableColumn<R>[];
  rowKey: (row: R) => string;
  sort?: TableSort;
  onSort?: (column: number) => void;
  cursor?: number; // index of the row that the keyboard is at
  onCursor?: (index: number) => void;
  onOpen?: (row: R) => void;
  className?: (row: R) => string;
}

/** rowHeight is the height of every row in pixels, at a font size of 16. */
const rowHeight = 2;

function rootSize(): number {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
}

/** VirtualTable shows the rows that are in view, of as many as there are. */
export function VirtualTable<R>(props: Props<R>) {
  const ref = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const height = rowHeight * rootSize();
  useLayoutEffect(() => {
    const box = ref.current!;
    const measure = () => setView({ top: box.scrollTop, height: box.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    box.addEventListener("scroll", measure, { passive: true });
    return () => { observer.disconnect(); box.removeEventListener("scroll", measure); };
  }, []);
  useEffect(() => {
    if (props.cursor === undefined) return;
    const box = ref.current!;
    const at = props.cursor * height;
    if (at < box.scrollTop) box.scrollTop = at;
    else if (at + 2 * height > box.scrollTop + box.clientHeight) box.scrollTop = at + 2 * height - box.clientHeight;
  }, [props.cursor]);
  const from = Math.max(0, Math.floor(view.top / height) - 8);
  const to = Math.min(props.rows.length, Math.ceil((view.top + view.height) / height) + 8);
  const tracks = props.columns.map((c) => c.width ?? "minmax(6rem, 1fr)").join(" ");
  return (
    <div class="table" role="grid" aria-label={props.label} aria-rowcount={props.rows.length + 1} aria-colcount={props.columns.length} ref={ref} tabIndex={0}>
      <div class="table-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: tracks }}>
        {props.columns.map((c, i) => <Head key={i} column={c} index={i} sort={props.sort} onSort={props.onSort} />)}
      </div>
      <div class="table-body" role="rowgroup" style={{ height: `${props.rows.length * height}px` }}>
        {props.rows.slice(from, to).map((row, i) => {
          const index = from + i;
          const here = index === props.cursor;
          return (
            <div key={props.rowKey(row)} role="row" aria-rowindex={index + 2} aria-selected={here}
              class={`table-row${here ? " here" : ""} ${props.className?.(row) ?? ""}`}
              style={{ transform: `translateY(${index * height}px)`, height: `${height}px`, gridTemplateColumns: tracks }}
              onClick={() => props.onCursor?.(index)} onDblClick={() => props.onOpen?.(row)}>
              {props.columns.map((c, j) => <div key={j} role="gridcell" class="table-cell">{c.cell(row)}</div>)}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Head<R>({ column, index, sort, onSort }: { column: TableColumn<R>; index: number; sort?: TableSort; onSort?: (column: number) => void }) {
  const order = sort?.column !== index ? undefined : sort.down ? "descending" : "ascending";
  const mark = order === "ascending" ? " ↑" : order === "descending" ? " ↓" : "";
  return (
    <div role="columnheader" class="table-cell" aria-sort={order} title={column.help}>
      {onSort && column.title ? <button type="button" onClick={() => onSort(index)}>{column.title}{mark}</button> : column.title}
    </div>
  );
}
