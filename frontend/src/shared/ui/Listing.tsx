import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { Fresh } from './Fresh';
import { More } from './More';
import { type Explained, Notice } from './Notice';
import { Placeholder } from './Placeholder';
import { type Column, Rows } from './Rows';
import { uiWords } from './words';

/** A paged list's rows and what is known about them. */
export interface ListState<T> {
  rows: T[];
  total: number;
  pending: boolean;
  /** The rows belong to the filter before; the new ones are on their way. */
  changing: boolean;
  hasMore: boolean;
  loadingMore: boolean;
  more: () => void;
  explained: Explained | undefined;
  retry: () => void;
  stale: boolean;
  fresh: number;
}

interface ListingProps<T> {
  list: ListState<T>;
  caption: string;
  columns: Column<T>[];
  rowKey: (row: T) => string;
  empty: ReactNode;
  note?: (row: T) => ReactNode;
  dim?: (row: T) => boolean;
  sort?: string;
  onSort?: (sort: string) => void;
}

/** A list in whatever state it is: on its way, failed, empty, or rows. */
export function Listing<T extends object>({ list, caption, columns, rowKey, empty, note, dim, sort, onSort }: ListingProps<T>) {
  const words = useWords(uiWords);
  if (list.explained) return <Notice explained={list.explained} action={<Button variant="default" onClick={list.retry}>{words.retry}</Button>} />;
  if (list.pending) return <Placeholder />;
  if (list.rows.length === 0 && !list.changing) return <><Fresh count={list.fresh} onShow={list.retry} />{empty}</>;
  return (
    <div aria-busy={list.changing}>
      <Fresh count={list.fresh} onShow={() => { window.scrollTo({ top: 0 }); list.retry(); }} />
      <Rows caption={caption} columns={columns} rows={list.rows} rowKey={rowKey} note={note} dim={dim} sort={sort} onSort={onSort} stale={list.stale} />
      <More shown={list.rows.length} total={list.total} hasMore={list.hasMore} loading={list.loadingMore} onMore={list.more} />
    </div>
  );
}
