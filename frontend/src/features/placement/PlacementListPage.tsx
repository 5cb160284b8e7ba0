import { Button } from '@mantine/core';
import { useMemo } from 'react';
import { Link } from 'wouter';
import type { Page, Placement } from '@/api/model';
import { Said } from '@/api/said';
import { useListAddress } from '@/api/useListAddress';
import { useLiveList } from '@/api/useLiveList';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Empty } from '@/shared/ui/Empty';
import { FilterBar } from '@/shared/ui/FilterBar';
import { Listing } from '@/shared/ui/Listing';
import { PageHead } from '@/shared/ui/PageHead';
import type { Column } from '@/shared/ui/Rows';
import { StateMark } from '@/shared/ui/StateMark';
import { filterFields, placementList } from './queries';
import { states, tones } from './state';
import { placementWords } from './words';

const fields = { namespace: [], state: states } satisfies Record<typeof filterFields[number], readonly string[]>;
const closed = ['state'];
const keyOf = (row: Placement) => `${row.namespace}/${row.name}`;
const note = (row: Placement) => (row.state === 'satisfied' || !row.message ? null : <>{row.reason && <code>{row.reason}</code>} <Said text={row.message} /></>);

/** Every placement and how many clusters it found. Filter and order live in the address. */
export default function PlacementListPage() {
  const words = useWords(placementWords);
  const { filter, filtered, setFilter, sort, setSort } = useListAddress(filterFields, 'name');
  const list = useLiveList<Placement, Page<Placement>>(placementList(filter, sort));  const columns = useMemo<Column<Placement>[]>(() => [
    { key: 'name', label: words.name, sortable: true, card: 'title', breaks: true, cell: (row) => <Link href={paths.placement(row)}>{row.name}</Link> },
    { key: 'state', label: words.state, sortable: true, card: 'corner', cell: (row) => <StateMark tone={tones[row.state]}>{words.states[row.state]}</StateMark> },
    { key: 'namespace', label: words.namespace, sortable: true, cell: (row) => row.namespace },
    { key: 'sets', label: words.boundSets, minor: true, cell: (row) => (row.sets.length > 0 ? row.sets.join(', ') : <span className="dim">{words.allSets}</span>) },
    { key: 'selected', label: words.selected, sortable: true, right: true, cell: (row) => (row.wanted === undefined ? row.selected : words.ofWanted(row.selected, row.wanted)) },
    { key: 'age', label: words.age, sortable: true, right: true, card: 'none', cell: (row) => <Age at={row.createdAt} /> },
  ], [words]);
  return (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} below={words.text} actions={<Button component={Link} href={paths.clusterSets()} variant="default">{words.toSets}</Button>} />
      {(filtered || list.rows.length > 0) && <FilterBar label={words.filter} placeholder={words.filterHint} fields={fields} closed={closed} value={filter} onChange={setFilter} />}
      <Listing
        list={list} caption={words.title} columns={columns} rowKey={keyOf} note={note} sort={sort} onSort={setSort}
        empty={filtered
          ? <Empty title={words.noneTitle} action={<Button variant="default" onClick={() => setFilter({})}>{words.clear}</Button>}>{words.noneText}</Empty>
          : <Empty title={words.emptyTitle} action={<Button component={Link} href={paths.clusterSets()}>{words.toSets}</Button>}>{words.emptyText}</Empty>}
      />
    </div>
  );
}
