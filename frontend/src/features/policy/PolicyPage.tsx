import { useQuery } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { ApiError } from '@/api/client';
import { useExplain } from '@/api/errors';
import { useFollow } from '@/api/hub';
import { type PolicyAt, paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { Empty } from '@/shared/ui/Empty';
import { FailedPage } from '@/shared/ui/FailedPage';
import { Placeholder } from '@/shared/ui/Placeholder';
import { TabBar } from '@/shared/ui/TabBar';
import { EffectTab } from './EffectTab';
import { kindOf } from './kinds';
import { PolicyFacts } from './PolicyFacts';
import { PolicyHead } from './PolicyHead';
import { policyDetail } from './queries';
import { Troubles } from './Troubles';
import { policyWords } from './words';
import { YamlView } from './YamlView';

const DeleteDialog = part(() => import('./DeleteDialog'));
const tabs = ['effect', 'facts', 'yaml'] as const;

interface PolicyPageProps {
  resource: string;
  /** "-" for what has no namespace. */
  namespace: string;
  name: string;
}

/** One policy: what does it do, where, since when? Tab and dialog live in the address. */
export default function PolicyPage({ resource, namespace, name }: PolicyPageProps) {
  const words = useWords(policyWords);
  const explain = useExplain();
  const [search, setSearch] = useSearchParams();
  const [seen, setSeen] = useState(false);
  useFollow('policies');
  const facts = kindOf(resource);
  const at: PolicyAt = { resource, namespace: namespace === '-' ? undefined : namespace, name };
  const query = useQuery({ ...policyDetail(at), enabled: facts !== undefined });
  const tab = tabs.find((one) => one === search.get('tab')) ?? 'effect';

  if (query.data && !seen) setSeen(true);
  const back = <Link href={paths.policies()}>{words.toList}</Link>;
  if (!facts) return <Empty page title={words.noKindTitle} action={back}>{words.noKindText}</Empty>;
  if (query.error instanceof ApiError && query.error.status === 404) {
    return <Empty page title={seen ? words.deletedTitle(name) : words.goneTitle(name)} action={back}>{seen ? words.deletedText : words.goneText}</Empty>;
  }
  if (query.error && !query.data) return <FailedPage title={name} explained={explain.error(query.error)} retrying={query.isFetching} onRetry={() => void query.refetch()} back={back} />;
  if (!query.data) return <Placeholder rows={8} />;
  const held = query.data;
  const set = (key: string, value: string | undefined) => setSearch((all) => {
    if (value) all.set(key, value);
    else all.delete(key);
    return all;
  }, { replace: true });

  return (
    <div className="page">
      <title>{`${name} · Muster`}</title>
      <PolicyHead at={at} row={held} onRemove={() => set('remove', '1')} />
      <Troubles row={held} />
      <TabBar label={words.sections} panel="policy-tab" chosen={tab} tabs={tabs.map((key) => ({ key, label: words.tabs[key] }))} onChoose={(key) => set('tab', key === 'effect' ? undefined : key)} />
      <div role="tabpanel" id="policy-tab" aria-labelledby={`policy-tab-${tab}`}>
        {tab === 'effect' && <EffectTab at={at} family={facts.family} />}
        {tab === 'facts' && <PolicyFacts held={held} />}
        {tab === 'yaml' && <YamlView text={held.detail.yaml} label={name} />}
      </div>
      {search.has('remove') && !held.removing && <Suspense><DeleteDialog at={at} family={facts.family} onClose={() => set('remove', undefined)} /></Suspense>}
    </div>
  );
}
