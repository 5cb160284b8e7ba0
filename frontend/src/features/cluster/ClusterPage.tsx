import { useQuery } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { ApiError } from '@/api/client';
import { useExplain } from '@/api/errors';
import { useFollow } from '@/api/hub';
import { useMay } from '@/api/session';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { Empty } from '@/shared/ui/Empty';
import { FailedPage } from '@/shared/ui/FailedPage';
import { Placeholder } from '@/shared/ui/Placeholder';
import { TabBar } from '@/shared/ui/TabBar';
import { ClusterHead } from './ClusterHead';
import { HistoryTab } from './HistoryTab';
import { OverviewTab } from './OverviewTab';
import { clusterDetail } from './queries';
import { clusterWords } from './words';
import { WorksTab } from './WorksTab';

const ForceDialog = part(() => import('./ForceDialog'));
const RemoveDialog = part(() => import('./RemoveDialog'));
const tabs = ['overview', 'works', 'history'] as const;

/** One cluster: is it well, and if not, why? Tab and dialog live in the address. */
export default function ClusterPage({ name }: { name: string }) {
  const words = useWords(clusterWords);
  const explain = useExplain();
  const may = useMay('operator');
  const [search, setSearch] = useSearchParams();
  const [seen, setSeen] = useState(false);
  useFollow('clusters');
  const query = useQuery(clusterDetail(name));
  const tab = tabs.find((one) => one === search.get('tab')) ?? 'overview';

  if (query.data && !seen) setSeen(true);
  if (query.error instanceof ApiError && query.error.status === 404) {
    return (
      <Empty page title={seen ? words.removedTitle(name) : words.goneTitle(name)} action={<Link href={paths.clusters()}>{words.toFleet}</Link>}>
        {seen ? words.removedText : words.goneText}
      </Empty>
    );
  }
  if (query.error && !query.data) return <FailedPage title={name} explained={explain.error(query.error)} retrying={query.isFetching} onRetry={() => void query.refetch()} back={<Link href={paths.clusters()}>{words.toFleet}</Link>} />;
  if (!query.data) return <Placeholder rows={8} />;
  const cluster = query.data;
  const LeaveDialog = cluster.state === 'removing' ? ForceDialog : RemoveDialog;
  const set = (key: string, value: string | undefined) => setSearch((all) => {
    if (value) all.set(key, value);
    else all.delete(key);
    return all;
  }, { replace: true });

  return (
    <div className="page">
      <title>{`${name} · Muster`}</title>
      <ClusterHead cluster={cluster} onRemove={() => set('remove', '1')} />
      <TabBar label={words.sections} panel="cluster-tab" chosen={tab} tabs={tabs.map((key) => ({ key, label: words.tabs[key] }))} onChoose={(key) => set('tab', key === 'overview' ? undefined : key)} />
      <div role="tabpanel" id="cluster-tab" aria-labelledby={`cluster-tab-${tab}`}>
        {tab === 'overview' && <OverviewTab cluster={cluster} />}
        {tab === 'works' && <WorksTab cluster={cluster} />}
        {tab === 'history' && <HistoryTab name={name} />}
      </div>
      {search.has('remove') && may && <Suspense><LeaveDialog name={name} onClose={() => set('remove', undefined)} /></Suspense>}
    </div>
  );
}
