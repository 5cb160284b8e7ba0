import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { ApiError } from '@/api/client';
import { useExplain } from '@/api/errors';
import { useFollow } from '@/api/hub';
import { useMay } from '@/api/session';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Empty } from '@/shared/ui/Empty';
import { FailedPage } from '@/shared/ui/FailedPage';
import { Notice } from '@/shared/ui/Notice';
import { Placeholder } from '@/shared/ui/Placeholder';
import { TabBar } from '@/shared/ui/TabBar';
import { DiffTab } from './DiffTab';
import { EventsTab } from './EventsTab';
import { OverviewTab } from './OverviewTab';
import { topicOf, workloadDetail, type WorkloadKey } from './queries';
import { TopologyTab } from './TopologyTab';
import type { WorkloadDetail } from './types';
import { WorkloadHead } from './WorkloadHead';
import { workloadWords } from './words';
import { YamlTab } from './YamlTab';

const tabs = ['overview', 'topology', 'overrides', 'yaml', 'events'] as const;

/** One workload: where does it run, and if it does not, why? Tab, hop and clusters compared live in the address. */
export default function WorkloadPage({ group, version, kind, namespace, name }: WorkloadKey) {
  const words = useWords(workloadWords);
  const explain = useExplain();
  const [search, setSearch] = useSearchParams();
  const [seen, setSeen] = useState(false);
  const key = { group, version, kind, namespace, name };
  useFollow(topicOf(key));
  const query = useQuery(workloadDetail(key));
  const tab = tabs.find((one) => one === search.get('tab')) ?? 'overview';

  const loaded = query.data !== undefined;
  // On a phone the chosen tab may stand outside of the bar.
  useEffect(() => { document.getElementById(`workload-tab-${tab}`)?.scrollIntoView({ block: 'nearest', inline: 'nearest' }); }, [tab, loaded]);

  if (query.data && !seen) setSeen(true);
  if (query.error instanceof ApiError && query.error.status === 404) {
    return (
      <Empty page title={seen ? words.removedTitle(name) : words.goneTitle(name)} action={<Link href={paths.workloads()}>{words.toList}</Link>}>
        {seen ? words.removedText : words.goneText}
      </Empty>
    );
  }
  if (query.error && !query.data) return <FailedPage title={name} explained={explain.error(query.error)} retrying={query.isFetching} onRetry={() => void query.refetch()} back={<Link href={paths.workloads()}>{words.toList}</Link>} />;
  if (!query.data) return <Placeholder rows={8} />;
  const detail = query.data;
  const set = (changes: Record<string, string | undefined>) => setSearch((all) => {
    for (const [param, value] of Object.entries(changes)) {
      if (value) all.set(param, value);
      else all.delete(param);
    }
    return all;
  }, { replace: true });

  return (
    <div className="page">
      <title>{`${name} · Muster`}</title>
      <WorkloadHead workload={key} detail={detail} />
      {detail.row.state === 'unmanaged' && <NoPolicy detail={detail} />}
      <TabBar label={words.sections} panel="workload-tab" chosen={tab} tabs={tabs.map((one) => ({ key: one, label: words.tabs[one] }))} onChoose={(one) => set({ tab: one === 'overview' ? undefined : one })} />
      <div role="tabpanel" id="workload-tab" aria-labelledby={`workload-tab-${tab}`}>
        {tab === 'overview' && <OverviewTab workload={key} detail={detail} />}
        {tab === 'topology' && <TopologyTab workload={key} detail={detail} view={search.get('view') ?? ''} hop={search.get('hop') ?? ''} onChange={set} />}
        {tab === 'overrides' && <DiffTab workload={key} detail={detail} cluster={search.get('cluster') ?? ''} against={search.get('against') ?? ''} onChange={set} />}
        {tab === 'yaml' && <YamlTab detail={detail} />}
        {tab === 'events' && <EventsTab detail={detail} />}
      </div>
    </div>
  );
}

/** What to do next with an object that no policy carries. */
function NoPolicy({ detail: { row } }: { detail: WorkloadDetail }) {
  const words = useWords(workloadWords);
  const may = useMay('operator');
  return (
    <Notice tone="info" title={words.nowhereTitle} action={may && <Button component={Link} href={paths.newPolicyFor(row)}>{words.makePolicy}</Button>}>
      <p>{words.nowhereText}</p>
    </Notice>
  );
}
