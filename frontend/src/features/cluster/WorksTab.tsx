import { useMemo } from 'react';
import { useFollow } from '@/api/hub';
import type { ClusterDetail, Page, Work } from '@/api/model';
import { Said } from '@/api/said';
import { useLiveList } from '@/api/useLiveList';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Empty } from '@/shared/ui/Empty';
import { Listing } from '@/shared/ui/Listing';
import { type Column } from '@/shared/ui/Rows';
import { StateMark, type Tone } from '@/shared/ui/StateMark';
import { workList, worksTopic } from './queries';
import { clusterWords } from './words';

const appliedTones: Record<Work['applied'], Tone> = { True: 'ok', False: 'bad', Unknown: 'busy' };
const keyOf = (work: Work) => `${work.namespace}/${work.name}`;
const note = (work: Work) => (work.applied === 'True' || !work.message ? null : <>{work.reason && <code>{work.reason}</code>} <Said text={work.message} /></>);

/** What the hub has put, or tries to put, into this cluster, as it happens. */
export function WorksTab({ cluster }: { cluster: ClusterDetail }) {
  const words = useWords(clusterWords);
  useFollow(worksTopic(cluster.name));
  const list = useLiveList<Work, Page<Work>>(workList(cluster.name), false);
  const { total, applied, failed, pending } = cluster.works;
  const columns = useMemo<Column<Work>[]>(() => [
    { key: 'target', label: words.object, card: 'title', breaks: true, cell: (work) => <>{work.target} <span className="dim">{work.kind}</span></> },
    { key: 'applied', label: words.state, card: 'corner', cell: (work) => <StateMark tone={appliedTones[work.applied]}>{words.appliedWords[work.applied]}</StateMark> },
    { key: 'health', label: words.health, cell: (work) => words.healthWords[work.health] },
    { key: 'work', label: words.work, minor: true, breaks: true, cell: (work) => <code>{work.name}</code> },
    { key: 'age', label: words.age, right: true, cell: (work) => <Age at={work.createdAt} /> },
  ], [words]);
  return (
    <div className="page">
      {total > 0 && <p className="dim">{[words.worksSum(applied, total), failed > 0 && words.worksFailed(failed), pending > 0 && words.worksPending(pending)].filter(Boolean).join(' · ')}</p>}
      <Listing list={list} caption={words.works} columns={columns} rowKey={keyOf} note={note} empty={<Empty title={words.worksNoneTitle}>{words.worksNoneText}</Empty>} />
    </div>
  );
}
