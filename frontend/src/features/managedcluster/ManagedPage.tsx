import { Button } from '@mantine/core';
import IconTrash from '@tabler/icons-react/dist/esm/icons/IconTrash.mjs';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { ApiError } from '@/api/client';
import { useExplain } from '@/api/errors';
import { useFollow } from '@/api/hub';
import type { ManagedDetail } from '@/api/model';
import { useMay } from '@/api/session';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { Age } from '@/shared/ui/Age';
import { Empty } from '@/shared/ui/Empty';
import { FailedPage } from '@/shared/ui/FailedPage';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import { Placeholder } from '@/shared/ui/Placeholder';
import { StateMark } from '@/shared/ui/StateMark';
import { TabBar } from '@/shared/ui/TabBar';
import { HistoryTab } from './HistoryTab';
import { Dialect, ReasonLine } from './managedColumns';
import { OverviewTab } from './OverviewTab';
import { detailTopic, managedDetail } from './queries';
import { tones } from './state';
import { managedWords } from './words';
import { WorksTab } from './WorksTab';

const DeleteWorkDialog = part(() => import('./DeleteWorkDialog'));
const LeavingDialog = part(() => import('./LeavingDialog'));
const RemoveDialog = part(() => import('./RemoveDialog'));
const WorkDialog = part(() => import('./WorkDialog'));
const tabs = ['overview', 'works', 'history'] as const;

/** One managed cluster: who agreed to it, is it well, what was put into it? Tab and dialogs live in the address. */
export default function ManagedPage({ name }: { name: string }) {
  const words = useWords(managedWords);
  const explain = useExplain();
  const may = useMay('operator');
  const [search, setSearch] = useSearchParams();
  const [seen, setSeen] = useState(false);
  useFollow('managed-clusters');
  useFollow(detailTopic(name));
  const query = useQuery(managedDetail(name));
  const tab = tabs.find((one) => one === search.get('tab')) ?? 'overview';

  if (query.data && !seen) setSeen(true);
  if (query.error instanceof ApiError && query.error.status === 404) {
    return (
      <Empty page title={seen ? words.removedTitle(name) : words.goneTitle(name)} action={<Link href={paths.managedClusters()}>{words.toFleet}</Link>}>
        {seen ? words.removedText : words.goneText}
      </Empty>
    );
  }
  if (query.error && !query.data) return <FailedPage title={name} explained={explain.error(query.error)} retrying={query.isFetching} onRetry={() => void query.refetch()} back={<Link href={paths.managedClusters()}>{words.toFleet}</Link>} />;
  if (!query.data) return <Placeholder rows={8} />;
  const cluster = query.data;
  const set = (key: string, value: string | undefined) => setSearch((all) => {
    if (value) all.set(key, value);
    else all.delete(key);
    return all;
  }, { replace: true });
  const work = search.get('work');

  return (
    <div className="page">
      <title>{`${name} · Muster`}</title>
      <Head cluster={cluster} onRemove={() => set('remove', '1')} />
      <TabBar label={words.sections} panel="managed-tab" chosen={tab} tabs={tabs.map((key) => ({ key, label: words.tabs[key] }))} onChoose={(key) => set('tab', key === 'overview' ? undefined : key)} />
      <div role="tabpanel" id="managed-tab" aria-labelledby={`managed-tab-${tab}`}>
        {tab === 'overview' && <OverviewTab cluster={cluster} />}
        {tab === 'works' && <WorksTab cluster={cluster} state={search.get('state') ?? ''} onState={(state) => set('state', state || undefined)} onOpen={(one) => set('work', one)} />}
        {tab === 'history' && <HistoryTab name={name} />}
      </div>
      <Suspense>
        {search.has('remove') && may && (cluster.removing
          ? <LeavingDialog name={name} onClose={() => set('remove', undefined)} />
          : <RemoveDialog cluster={cluster} onClose={() => set('remove', undefined)} />)}
        {work && (search.has('delete') && may
          ? <DeleteWorkDialog cluster={name} work={work} onClose={() => setSearch((all) => { all.delete('delete'); all.delete('work'); return all; }, { replace: true })} />
          : <WorkDialog cluster={name} work={work} onDelete={() => set('delete', '1')} onClose={() => set('work', undefined)} />)}
      </Suspense>
    </div>
  );
}

function Head({ cluster, onRemove }: { cluster: ManagedDetail; onRemove: () => void }) {
  const words = useWords(managedWords);
  const may = useMay('operator');
  const waiting = cluster.state === 'waiting' || cluster.state === 'denied';
  return (
    <>
      <PageHead
        title={cluster.name}
        below={
          <>
            <StateMark tone={tones[cluster.state]}>{words.states[cluster.state]}{cluster.since && <span className="dim"> <Age at={cluster.since} /></span>}</StateMark>
            <Dialect row={cluster} />
            {cluster.kubernetesVersion && <code>{cluster.kubernetesVersion}</code>}
            {cluster.dialect === 'karmada' && <Link href={paths.cluster(cluster.name)}>{words.asCluster}</Link>}
          </>
        }
        actions={<Button variant="default" leftSection={<IconTrash size={16} aria-hidden="true" />} disabled={!may || cluster.removing} title={may ? undefined : words.needRole} onClick={onRemove}>{words.remove}</Button>}
      />
      {cluster.removing
        ? <Notice tone="warn" title={words.removal.progress(cluster.name)} action={may && <Button variant="default" size="compact-sm" onClick={onRemove}>{words.removal.waitsFor}</Button>}><p aria-live="polite"><ReasonLine row={cluster} /></p></Notice>
        : cluster.state !== 'ready' && (cluster.reason || cluster.message) && (
          <Notice tone={cluster.state === 'failed' || cluster.state === 'denied' ? 'bad' : waiting || cluster.state === 'joining' ? 'info' : 'warn'} title={<ReasonLine row={cluster} />} action={waiting && may && cluster.dialect === 'ocm' ? <Link href={paths.waiting()}>{words.toRoom}</Link> : undefined} />
        )}
    </>
  );
}
