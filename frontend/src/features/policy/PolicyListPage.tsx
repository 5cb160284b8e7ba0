import { Button } from '@mantine/core';
import IconPlus from '@tabler/icons-react/dist/esm/icons/IconPlus.mjs';
import { Link } from 'wouter';
import { useMay } from '@/api/session';
import { useListAddress } from '@/api/useListAddress';
import { useLiveList } from '@/api/useLiveList';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Empty } from '@/shared/ui/Empty';
import { FilterBar } from '@/shared/ui/FilterBar';
import { Listing } from '@/shared/ui/Listing';
import { PageHead } from '@/shared/ui/PageHead';
import { kinds, policyPath } from './kinds';
import { usePolicyColumns } from './policyColumns';
import { filterFields, policyList } from './queries';
import { MissLine } from './Troubles';
import type { PolicyPage, PolicyRow } from './types';
import { policyWords } from './words';

const fields = { kind: kinds.map((facts) => facts.resource), namespace: ['default', '-'] } satisfies Record<typeof filterFields[number], readonly string[]>;
const closed = ['kind'];
const dim = (row: PolicyRow) => row.removing;
const note = (row: PolicyRow) => row.misses && <MissLine row={row} />;

/** What goes where, and what differs there: the policies of all four kinds. Filter and order live in the address. */
export default function PolicyListPage() {
  const words = useWords(policyWords);
  const may = useMay('operator');
  const { filter, filtered, setFilter, sort, setSort } = useListAddress(filterFields, 'name');
  const list = useLiveList<PolicyRow, PolicyPage>(policyList(filter, sort));
  const columns = usePolicyColumns();
  const plus = <IconPlus size={16} />;
  const add = may
    ? <Button component={Link} href={paths.policyGallery()} leftSection={plus}>{words.add}</Button>
    : <Button disabled leftSection={plus} title={words.needRole}>{words.add}</Button>;
  return (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} actions={(filtered || list.rows.length > 0) && add} />
      {(filtered || list.rows.length > 0) && <FilterBar label={words.filter} placeholder={words.filterHint} fields={fields} closed={closed} value={filter} onChange={setFilter} />}
      <Listing
        list={list} caption={words.title} columns={columns} rowKey={policyPath} note={note} dim={dim} sort={sort} onSort={setSort}
        empty={filtered
          ? <Empty title={words.noneTitle} action={<Button variant="default" onClick={() => setFilter({})}>{words.clear}</Button>}>{words.noneText}</Empty>
          : <Empty title={words.emptyTitle} action={add}>{words.emptyText}</Empty>}
      />
    </div>
  );
}
