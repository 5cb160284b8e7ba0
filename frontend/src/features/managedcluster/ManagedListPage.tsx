import { Button } from '@mantine/core';
import { type ReactNode, useCallback } from 'react';
import { Link } from 'wouter';
import type { ManagedCluster, ManagedPage } from '@/api/model';
import { useMay } from '@/api/session';
import { useListAddress, withState } from '@/api/useListAddress';
import { useLiveList } from '@/api/useLiveList';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Empty } from '@/shared/ui/Empty';
import { FilterBar } from '@/shared/ui/FilterBar';
import { Listing } from '@/shared/ui/Listing';
import { PageHead } from '@/shared/ui/PageHead';
import { hasReason, ReasonLine, useManagedColumns } from './managedColumns';
import { filterFields, managedList } from './queries';
import { states } from './state';
import { StateCounts } from './StateCounts';
import { managedWords } from './words';

const fields = { state: states, set: [], dialect: ['ocm', 'karmada'], label: [] } satisfies Record<typeof filterFields[number], readonly string[]>;
const closed = ['state', 'dialect'];
const nameOf = (row: ManagedCluster) => row.name;
const dim = (row: ManagedCluster) => row.state === 'unknown';

/** The fleet in the words of Open Cluster Management; `tabs` leads to the other view of it. */
export default function ManagedListPage({ tabs }: { tabs: ReactNode }) {
  const words = useWords(managedWords);
  const may = useMay('operator');
  const { filter, filtered, setFilter, sort, setSort } = useListAddress(filterFields, 'name');
  const list = useLiveList<ManagedCluster, ManagedPage>(managedList(filter, sort));
  const columns = useManagedColumns();
  const note = useCallback((row: ManagedCluster) => {
    const toRoom = row.state === 'waiting' && row.dialect === 'ocm' && may;
    return row.state !== 'ready' && (toRoom || hasReason(row)) && <><ReasonLine row={row} />{toRoom && <> <Link href={paths.waiting()}>{words.toRoom}</Link></>}</>;
  }, [words, may]);
  const add = may
    ? <Button component={Link} href={paths.addCluster()}>{words.add}</Button>
    : <Button disabled title={words.needRole}>{words.add}</Button>;
  return (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} below={words.text} />
      {tabs}
      {(filtered || list.rows.length > 0) && (
        <>
          <FilterBar label={words.filter} placeholder={words.filterHint} fields={fields} closed={closed} value={filter} onChange={setFilter} />
          <StateCounts counts={list.first?.counts} chosen={filter['state']} onChoose={(state) => setFilter(withState(filter, state))} />
        </>
      )}
      <Listing
        list={list} caption={words.title} columns={columns} rowKey={nameOf} note={note} dim={dim} sort={sort} onSort={setSort}
        empty={filtered
          ? <Empty title={words.noneTitle} action={<Button variant="default" onClick={() => setFilter({})}>{words.clear}</Button>}>{words.noneText}</Empty>
          : <Empty title={words.emptyTitle} action={add}>{words.emptyText}</Empty>}
      />
    </div>
  );
}
