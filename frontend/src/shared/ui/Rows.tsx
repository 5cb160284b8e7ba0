import { memo, type ReactNode, useEffect, useRef } from 'react';
import { useNarrow } from '@/shared/hooks/useNarrow';
import { useOverflow } from '@/shared/hooks/useOverflow';
import { useWords } from '@/shared/hooks/useWords';
import styles from './Rows.module.css';
import { uiWords } from './words';

/** One column; `card` says where it goes at phone width: the card's title, its right corner, a labelled line, a paragraph, its foot, or nowhere. */
export interface Column<T> {
  key: string;
  label: string;
  /** Null where there is nothing to say: a table shows a dash, a card leaves the line out. */
  cell: (row: T) => ReactNode;
  /** What the figures mean, where the label has no room to say so. */
  hint?: string;
  sortable?: boolean;
  right?: boolean;
  /** The column goes first when the table has little room. */
  minor?: boolean;
  /** The column explains itself: its label is for those who do not see it. */
  quiet?: boolean;
  /** Names that people give, of up to 253 characters: they break where there is no room for them. */
  breaks?: boolean;
  card?: 'title' | 'corner' | 'line' | 'text' | 'foot' | 'none';
}

interface RowsProps<T> {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  rowKey: (row: T) => string;
  /** A line of its own under the row, for what must not need a click. */
  note?: (row: T) => ReactNode;
  /** Rows whose figures are the last known, not the present ones. */
  dim?: (row: T) => boolean;
  /** The sort key in force, with "-" in front when descending. */
  sort?: string;
  onSort?: (sort: string) => void;
  /** The data is not live any more: dim, never wipe. */
  stale?: boolean;
}

/** A table, and at phone width the same rows as cards. A row that changed pulses once. */
export function Rows<T extends object>(props: RowsProps<T>) {
  const narrow = useNarrow();
  const { rows, rowKey, columns, note, dim, stale } = props;
  if (narrow) {
    return (
      <ul className={styles['cards']} aria-label={props.caption} data-stale={stale || undefined}>
        {rows.map((row) => <Card key={rowKey(row)} row={row} columns={columns} note={note} dim={dim} />)}
      </ul>
    );
  }
  return (
    <Scroll label={props.caption}>
      <table className={styles['table']} data-stale={stale || undefined}>
        <caption className="hidden">{props.caption}</caption>
        <thead>
          <tr>{columns.map((column) => <Head key={column.key} column={column} sort={props.sort} onSort={props.onSort} />)}</tr>
        </thead>
        <tbody>
          {rows.map((row) => <Row key={rowKey(row)} row={row} columns={columns} note={note} dim={dim} />)}
        </tbody>
      </table>
    </Scroll>
  );
}

/** A table that is wider than its place scrolls there, by the arrow keys too. */
function Scroll({ label, children }: { label: string; children: ReactNode }) {
  const [ref, over] = useOverflow<HTMLDivElement>();
  return <div ref={ref} className={styles['scroll']} {...(over ? { tabIndex: 0, role: 'group', 'aria-label': label } : {})}>{children}</div>;
}

function Head<T>({ column, sort, onSort }: { column: Column<T>; sort: string | undefined; onSort: ((sort: string) => void) | undefined }) {
  const words = useWords(uiWords);
  const direction = sort === column.key ? 'ascending' : sort === `-${column.key}` ? 'descending' : undefined;
  return (
    <th scope="col" aria-sort={direction} data-right={column.right || undefined} data-minor={column.minor || undefined} title={column.sortable && onSort ? undefined : column.hint}>
      {column.sortable && onSort ? (
        <button type="button" className={styles['sort']} title={[column.hint, words.sortBy(column.label)].filter(Boolean).join('. ')} onClick={() => onSort(direction === 'ascending' ? `-${column.key}` : column.key)}>
          {column.label}
          <span aria-hidden="true">{direction === 'ascending' ? ' ↑' : direction === 'descending' ? ' ↓' : ''}</span>
        </button>
      ) : column.quiet ? <span className="hidden">{column.label}</span> : column.label}
    </th>
  );
}

interface RowProps<T> {
  row: T;
  columns: Column<T>[];
  note: ((row: T) => ReactNode) | undefined;
  dim: ((row: T) => boolean) | undefined;
}

const Row = memo(function Row<T>({ row, columns, note, dim }: RowProps<T>) {
  const ref = usePulse<HTMLTableRowElement>(row);
  const text = note?.(row);
  return (
    <>
      <tr ref={ref} data-noted={text ? true : undefined} data-dim={dim?.(row) || undefined}>
        {columns.map((column) => <td key={column.key} data-right={column.right || undefined} data-minor={column.minor || undefined} data-breaks={column.breaks || undefined}>{column.cell(row) ?? <span className="dim">–</span>}</td>)}
      </tr>
      {text && <tr className={styles['note']}><td colSpan={columns.length}>{text}</td></tr>}
    </>
  );
}) as <T>(props: RowProps<T>) => ReactNode;

const Card = memo(function Card<T>({ row, columns, note, dim }: RowProps<T>) {
  const ref = usePulse<HTMLLIElement>(row);
  const text = note?.(row);
  const at = (place: Column<T>['card']) => columns.filter((column) => (column.card ?? 'line') === place);
  return (
    <li ref={ref} className={styles['card']} data-dim={dim?.(row) || undefined}>
      <div className={styles['top']}>
        <div className={styles['title']}>{at('title').map((column) => <span key={column.key}>{column.cell(row)}</span>)}</div>
        <div>{at('corner').map((column) => <span key={column.key}>{column.cell(row)}</span>)}</div>
      </div>
      {text && <div className={styles['cardNote']}>{text}</div>}
      <dl className={styles['lines']}>
        {at('line').map((column) => {
          const cell = column.cell(row);
          return cell === null ? null : <div key={column.key}><dt>{column.label}</dt><dd>{cell}</dd></div>;
        })}
      </dl>
      {at('text').map((column) => <div key={column.key}>{column.cell(row)}</div>)}
      {at('foot').map((column) => <div key={column.key} className={styles['foot']}>{column.cell(row)}</div>)}
    </li>
  );
}) as <T>(props: RowProps<T>) => ReactNode;

/** Marks an element whose row was replaced by another version of itself. */
function usePulse<E extends HTMLElement>(row: unknown) {
  const ref = useRef<E>(null);
  const before = useRef(row);
  useEffect(() => {
    if (before.current === row) return;
    before.current = row;
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    ref.current?.animate([{ backgroundColor: 'var(--pick)' }, { backgroundColor: 'transparent' }], { duration: 900 });
  }, [row]);
  return ref;
}
