import { Button } from '@mantine/core';
import { useMemo } from 'react';
import { useFollow } from '@/api/hub';
import type { ManagedDetail, ManifestWork, ManifestWorkPage } from '@/api/model';
import { Said } from '@/api/said';
import { useLiveList } from '@/api/useLiveList';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Choice } from '@/shared/ui/Choice';
import { Empty } from '@/shared/ui/Empty';
import { Listing } from '@/shared/ui/Listing';
import type { Column } from '@/shared/ui/Rows';
import { StateMark } from '@/shared/ui/StateMark';
import { Owner } from './Owner';
import { workList, worksTopic } from './queries';
import { workState, workStates, workTones } from './state';
import { managedWords } from './words';

const keyOf = (work: ManifestWork) => work.name;
const note = (work: ManifestWork) => (workState(work) === 'available' || !work.message ? null : <>{work.reason && <code>{work.reason}</code>} <Said text={work.message} /></>);

interface WorksTabProps {
  cluster: ManagedDetail;
  state: string;
  onState: (state: string) => void;
  onOpen: (work: string) => void;
}

/** The ManifestWorks of this cluster, as they happen. */
export function WorksTab({ cluster, state, onState, onOpen }: WorksTabProps) {
  const words = useWords(managedWords);
  useFollow(worksTopic(cluster.name));
  const list = useLiveList<ManifestWork, ManifestWorkPage>(workList(cluster.name, state), false);
  const { total, applied, available, failed } = cluster.works;
  const columns = useMemo<Column<ManifestWork>[]>(() => [
    { key: 'name', label: words.work, card: 'title', breaks: true, cell: (work) => work.name },
    { key: 'state', label: words.state, card: 'corner', cell: (work) => (work.removing ? <StateMark tone="leaving">{words.removingWork}</StateMark> : <StateMark tone={workTones[workState(work)]}>{words.workStates[workState(work)]}</StateMark>) },
    { key: 'manifests', label: words.manifests, right: true, cell: (work) => words.worksShort(work.manifests.available, work.manifests.total) },
    { key: 'owner', label: words.owner, minor: true, cell: (work) => <Owner work={work} /> },
    { key: 'age', label: words.age, right: true, cell: (work) => <Age at={work.createdAt} /> },
    { key: 'details', label: words.details, quiet: true, right: true, card: 'foot', cell: (work) => <Button variant="default" size="compact-sm" aria-label={words.detailsOf(work.name)} onClick={() => onOpen(work.name)}>{words.details}</Button> },
  ], [words, onOpen]);
  return (
    <div className="page">
      {total > 0 && (
        <>
          <p className="dim">{[words.worksSum(applied, available, total), failed > 0 && words.worksFailed(failed)].filter(Boolean).join(' · ')}</p>
          <Choice label={words.state} chosen={state} onChoose={onState} options={[['', words.allWorks], ...workStates.map((one): [string, string] => [one, `${words.workStates[one]} ${list.first?.counts[one] ?? '–'}`])]} />
        </>
      )}
      <Listing list={list} caption={words.tabs.works} columns={columns} rowKey={keyOf} note={note} empty={<Empty title={words.worksNoneTitle}>{state ? words.worksNoneMatch : words.worksNoneText}</Empty>} />
    </div>
  );
}
