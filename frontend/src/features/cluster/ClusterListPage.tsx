import { Button } from '@mantine/core';
import IconPlus from '@tabler/icons-react/dist/esm/icons/IconPlus.mjs';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Cluster, ClusterPage } from '@/api/model';
import { useMay } from '@/api/session';
import { useListAddress, withState } from '@/api/useListAddress';
import { useLiveList } from '@/api/useLiveList';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Empty } from '@/shared/ui/Empty';
import { FilterBar } from '@/shared/ui/FilterBar';
import { Listing } from '@/shared/ui/Listing';
import { PageHead } from '@/shared/ui/PageHead';
import { hasReason, ReasonLine, useClusterColumns } from './clusterColumns';
import { CountBar } from './CountBar';
import { clusterList, filterFields } from './queries';
import { states } from './state';
import { clusterWords } from './words';

const fields = { state: states, dialect: ['karmada', 'ocm'], mode: ['Push', 'Pull'], region: [], provider: [], label: [] } satisfies Record<typeof filterFields[number], readonly string[]>;
const closed = ['state', 'dialect', 'mode'];
const nameOf = (cluster: Cluster) => cluster.name;
const dim = (cluster: Cluster) => cluster.state === 'unknown';
const note = (cluster: Cluster) => (hasReason(cluster) ? <ReasonLine cluster={cluster} /> : null);

/** The fleet: what needs me? Filter and order live in the address; `tabs` leads to the fleet as the other dialect sees it. */
export default function ClusterListPage({ tabs }: { tabs: ReactNode }) {
  const words = useWords(clusterWords);
  const may = useMay('operator');
  const { filter, filtered, setFilter, sort, setSort } = useListAddress(filterFields, 'name');
  const list = useLiveList<Cluster, ClusterPage>(clusterList(filter, sort));
  const columns = useClusterColumns();


  const plus = <IconPlus size={16} aria-hidden="true" />;
  const add = may
    ? <Button component={Link} href={paths.addCluster()} leftSection={plus}>{words.add}</Button>
    : <Button disabled leftSection={plus} title={words.needRole}>{words.add}</Button>;
  return (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} actions={(filtered || list.rows.length > 0) && add} />
      {tabs}
      {(filtered || list.rows.length > 0) && (
        <>
          <FilterBar label={words.filter} placeholder={words.filterHint} fields={fields} closed={closed} value={filter} onChange={setFilter} />
          <CountBar counts={list.first?.counts} chosen={filter['state']} onChoose={(state) => setFilter(withState(filter, state))} />
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
