import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { ApiError } from '@/api/client';
import { useExplain } from '@/api/errors';
import { useFollow } from '@/api/hub';
import type { PlacementDetail } from '@/api/model';
import { Said } from '@/api/said';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Empty } from '@/shared/ui/Empty';
import { FailedPage } from '@/shared/ui/FailedPage';
import { Facts } from '@/shared/ui/Facts';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import { Placeholder } from '@/shared/ui/Placeholder';
import { type Column, Rows } from '@/shared/ui/Rows';
import { Section } from '@/shared/ui/Section';
import { StateMark } from '@/shared/ui/StateMark';
import styles from './placement.module.css';
import { placementDetail } from './queries';
import { found, tones } from './state';
import { placementWords } from './words';

type Chosen = PlacementDetail['chosen'][number];
type Left = PlacementDetail['left'][number];

/** One placement: the clusters it has chosen, and for each other one the reason. */
export default function PlacementPage({ namespace, name }: { namespace: string; name: string }) {
  const words = useWords(placementWords);
  const explain = useExplain();
  useFollow('placements');
  useFollow('managed-clusters');
  useFollow('cluster-sets');
  const query = useQuery(placementDetail(namespace, name));
  if (query.error instanceof ApiError && query.error.status === 404) {
    return <Empty page title={words.goneTitle(name)} action={<Link href={paths.placements()}>{words.toList}</Link>}>{words.goneText}</Empty>;
  }
  if (query.error && !query.data) return <FailedPage title={name} explained={explain.error(query.error)} retrying={query.isFetching} onRetry={() => void query.refetch()} back={<Link href={paths.placements()}>{words.toList}</Link>} />;
  if (!query.data) return <Placeholder rows={8} />;
  const placement = query.data;
  return (
    <div className="page">
      <title>{`${name} · Muster`}</title>
      <PageHead title={name} below={<><StateMark tone={tones[placement.state]}>{words.states[placement.state]}</StateMark><span>{namespace}</span></>} />
      {placement.message && <Notice tone={placement.state === 'partly' ? 'warn' : 'bad'} title={<>{placement.reason && <code>{placement.reason}</code>} <Said text={placement.message} /></>} action={placement.boundSets.length === 0 ? <Link href={paths.clusterSets()}>{words.bindOne}</Link> : undefined} />}
      <div className={styles['columns']}>
        <div className={styles['column']}><Decisions placement={placement} /></div>
        <div className={styles['column']}>
          <Section title={words.facts}>
            <Facts facts={[
              [words.setsBound, placement.boundSets.length > 0 ? placement.boundSets.join(', ') : <span className="dim">{words.noSets}</span>],
              [words.wanted, placement.wanted ?? words.wantedAll],
              [words.selected, placement.selected],
              [words.groups, placement.groups],
              [words.created, <Age key="age" at={placement.createdAt} ago />],
            ] as [string, ReactNode][]} />
          </Section>
          <Section title={words.spec}><pre className={styles['spec']} tabIndex={0}>{placement.spec}</pre></Section>
        </div>
      </div>
    </div>
  );
}

function Decisions({ placement }: { placement: PlacementDetail }) {
  const words = useWords(placementWords);
  const [text, setText] = useState('');
  const groups = new Set(placement.chosen.map((one) => one.group)).size > 1;
  const scored = placement.chosen.some((one) => one.score !== 0);
  const chosenColumns = useMemo<Column<Chosen>[]>(() => [
    { key: 'cluster', label: words.cluster, card: 'title', breaks: true, cell: (row) => <StateMark tone="ok" breaks><Link href={paths.managedCluster(row.cluster)}>{row.cluster}</Link></StateMark> },
    ...(groups ? [{ key: 'group', label: words.group, cell: (row: Chosen) => row.group }] : []),
    ...(scored ? [{ key: 'score', label: words.score, right: true, cell: (row: Chosen) => row.score }] : []),
  ], [words, groups, scored]);
  const leftColumns = useMemo<Column<Left>[]>(() => [
    { key: 'cluster', label: words.cluster, card: 'title', breaks: true, cell: (row) => <StateMark tone="idle" breaks><Link href={paths.managedCluster(row.cluster)}>{row.cluster}</Link></StateMark> },
    { key: 'reason', label: words.why, card: 'corner', cell: (row) => words.reasons[row.reason] },
    { key: 'message', label: '', quiet: true, card: 'text', cell: (row) => <span className={styles['message']}><Said text={row.message} /></span> },
  ], [words]);
  const chosen = found(placement.chosen, text, (row) => row.cluster);
  const left = found(placement.left, text, (row) => row.cluster);
  return (
    <>
      {placement.chosen.length + placement.left.length > 10 && <TextInput className={styles['find']} aria-label={words.findCluster} placeholder={words.findCluster} value={text} onChange={(event) => setText(event.target.value)} spellCheck={false} autoComplete="off" />}
      <Section title={words.chosen(placement.chosen.length)}>
        {chosen.length === 0 ? <p className="dim">{words.chosenNone}</p> : <Rows caption={words.chosen(placement.chosen.length)} columns={chosenColumns} rows={chosen} rowKey={(row) => row.cluster} />}
      </Section>
      <Section title={words.left(placement.left.length)}>
        {left.length === 0 ? <p className="dim">{words.leftNone}</p> : <Rows caption={words.left(placement.left.length)} columns={leftColumns} rows={left} rowKey={(row) => row.cluster} />}
      </Section>
    </>
  );
}
