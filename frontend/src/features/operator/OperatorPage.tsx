import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useExplain } from '@/api/errors';
import { useFollow } from '@/api/hub';
import type { OperatorRow } from '@/api/model';
import { Said } from '@/api/said';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Empty } from '@/shared/ui/Empty';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import { Placeholder } from '@/shared/ui/Placeholder';
import { type Column, Rows } from '@/shared/ui/Rows';
import { Section } from '@/shared/ui/Section';
import { StateMark, type Tone } from '@/shared/ui/StateMark';
import { Term } from '@/shared/ui/Term';
import styles from './operator.module.css';
import { operators } from './queries';
import { operatorWords } from './words';

type Condition = OperatorRow['conditions'][number];
const tones: Record<OperatorRow['state'], Tone> = { ready: 'ok', progressing: 'busy', degraded: 'bad', pending: 'idle', removing: 'leaving' };

/** What the operators put where, and how it is. */
export default function OperatorPage() {
  const words = useWords(operatorWords);
  const explain = useExplain();
  useFollow('operators');
  const query = useQuery(operators);
  const all = query.data;
  const nothing = all && all.clusterManagers.length + all.klusterlets.length === 0;
  return (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} below={words.text} />
      {!all && (query.error ? <Notice explained={explain.error(query.error)} /> : <Placeholder rows={6} />)}
      {nothing && <Empty title={words.emptyTitle}>{words.emptyText}</Empty>}
      {all && all.clusterManagers.length > 0 && <Group title={words.managers} rows={all.clusterManagers} />}
      {all && all.klusterlets.length > 0 && <Group title={words.klusterlets} rows={all.klusterlets} />}
    </div>
  );
}

function Group({ title, rows }: { title: string; rows: OperatorRow[] }) {
  return (
    <Section title={title}>
      <div className={styles['list']}>{rows.map((row) => <Card key={row.name} row={row} />)}</div>
    </Section>
  );
}

function Card({ row }: { row: OperatorRow }) {
  const words = useWords(operatorWords);
  const columns = useMemo<Column<Condition>[]>(() => [
    { key: 'type', label: words.condition, card: 'title', cell: (condition) => <Term text={condition.type} /> },
    { key: 'status', label: words.status, card: 'corner', cell: (condition) => <StateMark tone={condition.well ? 'ok' : condition.status === 'Unknown' ? 'unknown' : condition.type === 'Progressing' ? 'busy' : 'bad'}>{words.statusWords[condition.status] ?? condition.status}</StateMark> },
    { key: 'since', label: words.since, right: true, cell: (condition) => <Age at={condition.lastTransitionTime} /> },
    { key: 'message', label: words.message, card: 'text', cell: (condition) => <span className={styles['message']}><code>{condition.reason}</code> <Said text={condition.message} /></span> },
  ], [words]);
  return (
    <article className={styles['card']} aria-label={row.name}>
      <div className={styles['head']}>
        <h3 className="wrap">{row.name}</h3>
        <StateMark tone={tones[row.state]}>{words.states[row.state]}</StateMark>
        <span className="dim">{words.mode}: {row.mode}</span>
        {row.clusterName && <span className="dim">{words.cluster}: <code>{row.clusterName}</code></span>}
        {row.namespace && <span className="dim">{words.namespace}: <code>{row.namespace}</code></span>}
        <span className="dim">{words.created} <Age at={row.createdAt} ago /></span>
      </div>
      {!row.current && row.state !== 'pending' && <p className="dim">{words.behind}</p>}
      {row.conditions.length === 0
        ? <p className="dim">{row.message ?? words.none}</p>
        : <Rows caption={`${row.name}: ${words.conditions}`} columns={columns} rows={row.conditions} rowKey={(condition) => condition.type} />}
      {row.related.length > 0 && (
        <details className={styles['related']}>
          <summary>{words.related(row.related.length)}</summary>
          <ul>{row.related.map((one) => <li key={`${one.resource} ${one.namespace ?? ''} ${one.name}`}><span className="dim">{one.resource}</span> <code>{one.namespace ? `${one.namespace}/` : ''}{one.name}</code>{one.generation > 0 && <span className="dim small"> {words.generation(one.generation)}</span>}</li>)}</ul>
        </details>
      )}
    </article>
  );
}
