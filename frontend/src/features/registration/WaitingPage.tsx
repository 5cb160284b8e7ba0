import { Button } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { Link, useSearchParams } from 'wouter';
import { useExplain } from '@/api/errors';
import type { Page, Registration } from '@/api/model';
import { useMay } from '@/api/session';
import { useLiveList } from '@/api/useLiveList';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Choice } from '@/shared/ui/Choice';
import { Empty } from '@/shared/ui/Empty';
import { Listing } from '@/shared/ui/Listing';
import { PageHead } from '@/shared/ui/PageHead';
import { type Column } from '@/shared/ui/Rows';
import { StateMark, type Tone } from '@/shared/ui/StateMark';
import { registrationList } from './queries';
import { registrationWords } from './words';

const tones: Record<Registration['state'], Tone> = { waiting: 'idle', running: 'busy', ready: 'ok', failed: 'bad', cancelled: 'unknown', expired: 'unknown' };
const keyOf = (registration: Registration) => registration.id;

/** Clusters on their way in. Which ones is in the address. */
export default function WaitingPage({ tabs }: { tabs: ReactNode }) {
  const words = useWords(registrationWords);
  const [search, setSearch] = useSearchParams();
  const state = search.get('state') ?? '';
  const list = useLiveList<Registration, Page<Registration>>(registrationList(state));
  const explain = useExplain();
  const note = (registration: Registration) => {
    const failed = registration.stages.find((stage) => stage.state === 'failed');
    if (!failed) return null;
    const { code, what } = explain.failure(failed);
    return <><code>{code}</code> {what}</>;
  };
  const columns = useMemo<Column<Registration>[]>(() => [
    { key: 'cluster', label: words.cluster, card: 'title', cell: (row) => <Link href={paths.registration(row.id)}>{row.clusterName || words.anyName}</Link> },
    { key: 'state', label: words.state, card: 'corner', cell: (row) => <StateMark tone={tones[row.state]}>{words.states[row.state]}</StateMark> },
    { key: 'stage', label: words.stage, cell: (row) => stageOf(row, words.stages) },
    { key: 'flavour', label: words.flavour, cell: (row) => words.flavours[row.flavour] },
    { key: 'by', label: words.by, minor: true, cell: (row) => row.createdBy || null },
    { key: 'age', label: words.age, right: true, cell: (row) => <Age at={row.createdAt} /> },
  ], [words]);
  const add = useMay('operator')
    ? <Button component={Link} href={paths.addCluster()}>{words.title}</Button>
    : <Button disabled title={words.needRole}>{words.title}</Button>;
  return (
    <div className="page">
      <title>{`${words.waitingTitle} · Muster`}</title>
      <PageHead title={words.waitingTitle} below={words.waitingText} />
      {tabs}
      <Choice label={words.filterLabel} options={Object.entries(words.filters)} chosen={state} onChoose={(next) => setSearch(next ? { state: next } : {}, { replace: true })} />
      <Listing list={list} caption={words.waitingTitle} columns={columns} rowKey={keyOf} note={note} empty={<Empty title={words.waitingEmptyTitle} action={add}>{words.waitingEmptyText}</Empty>} />
    </div>
  );
}

/** The stage that a registration is at: the failed one, else the one under way, else the last done. */
function stageOf(row: Registration, names: Record<string, string>): string {
  const stage = row.stages.find((one) => one.state === 'failed') ?? row.stages.find((one) => one.state === 'running') ?? row.stages.findLast((one) => one.state === 'done');
  return stage ? names[stage.name] ?? stage.name : '–';
}
