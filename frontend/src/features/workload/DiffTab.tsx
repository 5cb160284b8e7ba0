import '@mantine/core/styles/Combobox.layer.css';
import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useExplain } from '@/api/errors';
import { factWords, reworded } from '@/api/facts';
import { useFollow } from '@/api/hub';
import { useWords } from '@/shared/hooks/useWords';
import { Empty } from '@/shared/ui/Empty';
import { Notice } from '@/shared/ui/Notice';
import { Placeholder } from '@/shared/ui/Placeholder';
import { Section } from '@/shared/ui/Section';
import { diff, type DiffLine, ruleKey, rulesAtWork } from './diff';
import styles from './DiffTab.module.css';
import { DiffView } from './DiffView';
import { overrideDiff, type WorkloadKey } from './queries';
import { RuleName } from './RuleName';
import type { WorkloadDetail } from './types';
import { workloadWords } from './words';

interface DiffTabProps {
  workload: WorkloadKey;
  detail: WorkloadDetail;
  /** From the address; the first cluster and the template when it names none. */
  cluster: string;
  against: string;
  onChange: (changes: Record<string, string | undefined>) => void;
}

/** What the overrides make of the template for one cluster, or how two clusters differ; each line names its rule. */
export function DiffTab({ workload, detail: { row }, cluster, against, onChange }: DiffTabProps) {
  const words = useWords(workloadWords);
  const said = useWords(factWords);
  const explain = useExplain();
  const names = row.clusters.map((one) => one.name);
  const chosen = names.includes(cluster) ? cluster : names[0] ?? '';
  const other = names.includes(against) && against !== chosen ? against : '';
  useFollow('policies');
  const version = JSON.stringify([row.resourceVersion, row.policy, row.clusters.map(({ name, replicas }) => [name, replicas])]);
  const query = useQuery({ ...overrideDiff(workload, chosen, other, version), enabled: chosen !== '' });
  const refused = query.data?.clusters.filter((one) => one.error) ?? [];
  const lines = useMemo(() => {
    const find = (name: string) => query.data?.clusters.find((one) => one.name === name);
    const right = find(chosen);
    const left = other ? find(other) : query.data && { yaml: query.data.template, changes: [] };
    return left && right ? diff(left, right) : undefined;
  }, [query.data, chosen, other]);

  if (chosen === '') return <Empty title={words.diffNoClusterTitle}>{words.diffNoCluster}</Empty>;
  const leftName = other || words.theTemplate;
  return (
    <div className="page">
      <div className={styles['choose']}>
        <NativeSelect label={words.ofCluster} data={names} value={chosen} onChange={(event) => onChange({ cluster: event.target.value })} />
        <NativeSelect label={words.against} data={[{ value: '', label: words.theTemplate }, ...names.filter((name) => name !== chosen)]} value={other} onChange={(event) => onChange({ against: event.target.value || undefined })} />
      </div>
      {query.error && !query.data && <Notice explained={explain.error(query.error)} />}
      {refused.map((one) => <Notice key={one.name} title={words.cannotRender(one.name)}><p className="wrap">{reworded(said, one.error ?? '')}</p></Notice>)}
      {!lines && !query.error && <Placeholder rows={12} />}
      {lines && (lines.every((line) => line.op === 'same') ? refused.length === 0 && <Notice tone="info" title={words.diffNone}><p>{words.diffNoneText(chosen)}</p></Notice> : <RuleList lines={lines} />)}
      {lines && <div aria-busy={query.isPlaceholderData}><DiffView key={`${chosen} ${other}`} label={words.diffLabel(leftName, chosen)} lines={lines} /></div>}
    </div>
  );
}

function RuleList({ lines }: { lines: DiffLine[] }) {
  const words = useWords(workloadWords);
  const rules = rulesAtWork(lines);
  if (rules.length === 0) return null;
  return (
    <Section title={words.rulesTitle}>
      <ul className={styles['rules']}>
        {rules.map(({ change, lines: n }) => (
          <li key={ruleKey(change)} className={`${styles['rule']} linked`}>
            <span><RuleName change={change} full /></span>
            <span className="dim small">{words.ruleLines(n)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
