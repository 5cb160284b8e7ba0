import { Button } from '@mantine/core';
import IconPlus from '@tabler/icons-react/dist/esm/icons/IconPlus.mjs';
import { useCallback } from 'react';
import { Link, useSearchParams } from 'wouter';
import { useMay } from '@/api/session';
import { useLiveList } from '@/api/useLiveList';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Choice } from '@/shared/ui/Choice';
import { Empty } from '@/shared/ui/Empty';
import { type Filter, FilterBar } from '@/shared/ui/FilterBar';
import { Listing } from '@/shared/ui/Listing';
import { PageHead } from '@/shared/ui/PageHead';
import { filterFields, workloadList } from './queries';
import { states } from './state';
import { StateCounts } from './StateCounts';
import type { WorkloadList, WorkloadRow } from './types';
import { ReasonLine, useWorkloadColumns } from './workloadColumns';
import { workloadWords } from './words';

const kinds = ['Deployment', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob', 'Service', 'ConfigMap', 'Secret', 'Namespace'];
const fields = { namespace: [], kind: kinds, policy: [], cluster: [], state: [...states, 'unmanaged'] } satisfies Record<typeof filterFields[number], readonly string[]>;
const closed = ['state'];
const idOf = (row: WorkloadRow) => row.id;

/** What runs where: every template that a policy carries, with its state in each cluster. Filter and order live in the address. */
export default function WorkloadListPage() {
  const words = useWords(workloadWords);
  const [search, setSearch] = useSearchParams();
  const filter: Filter = Object.fromEntries(['q', ...filterFields].flatMap((key) => (search.get(key) ? [[key, search.get(key) ?? '']] : [])));
  const sort = search.get('sort') ?? 'name';
  const all = search.get('scope') === 'all' || filter['state'] === 'unmanaged';
  const list = useLiveList<WorkloadRow, WorkloadList>(workloadList(filter, all, sort));
  const columns = useWorkloadColumns();
  const filtered = Object.keys(filter).length > 0;
  const something = filtered || all || list.rows.length > 0;

  const setFilter = useCallback((next: Filter) => {
    setSearch((before) => {
      const kept = ['sort', 'scope'].flatMap((key) => (before.get(key) ? [[key, before.get(key) ?? '']] : []));
      return new URLSearchParams({ ...next, ...Object.fromEntries(kept) });
    }, { replace: true });
  }, [setSearch]);
  const set = useCallback((key: string, value: string) => {
    setSearch((before) => {
      if (value) before.set(key, value);
      else before.delete(key);
      return before;
    }, { replace: true });
  }, [setSearch]);

  const note = useCallback((row: WorkloadRow) => (row.state === 'ok' ? null : <ReasonLine row={row} words={words} />), [words]);

  return (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} actions={something && <NewButton />} />
      {something && (
        <>
          <FilterBar label={words.filter} placeholder={words.filterHint} fields={fields} closed={closed} value={filter} onChange={setFilter} />
          <StateCounts counts={list.first?.counts} chosen={filter['state']} onChoose={(state) => setFilter(state ? { ...filter, state } : Object.fromEntries(Object.entries(filter).filter(([key]) => key !== 'state')))} />
          <Choice label={words.scope} options={[['', words.scopes.placed], ['all', words.scopes.all]]} chosen={all ? 'all' : ''} onChoose={(scope) => set('scope', scope)} />
        </>
      )}
      <Listing
        list={list} caption={words.title} columns={columns} rowKey={idOf} note={note} sort={sort} onSort={(next) => set('sort', next)}
        empty={filtered
          ? <Empty title={words.noneTitle} action={<Button variant="default" onClick={() => setFilter({})}>{words.clear}</Button>}>{words.noneText}</Empty>
          : <Empty title={words.emptyTitle} action={<EmptyActions all={all} onAll={() => set('scope', 'all')} />}>{words.emptyText}</Empty>}
      />
    </div>
  );
}

function NewButton() {
  const words = useWords(workloadWords);
  const may = useMay('operator');
  const plus = <IconPlus size={16} aria-hidden="true" />;
  return may
    ? <Button component={Link} href={paths.newWorkload()} leftSection={plus}>{words.makeWorkload}</Button>
    : <Button disabled leftSection={plus} title={words.needRole}>{words.makeWorkload}</Button>;
}

/** The ways out of an empty list: a workload, a policy, or a look at what no policy holds. */
function EmptyActions({ all, onAll }: { all: boolean; onAll: () => void }) {
  const words = useWords(workloadWords);
  const may = useMay('operator');
  return (
    <>
      <NewButton />
      {may && <Button variant="default" component={Link} href={paths.policyGallery()}>{words.makePolicy}</Button>}
      {!all && <Button variant="subtle" onClick={onAll}>{words.showUnmanaged}</Button>}
    </>
  );
}
