import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useExplain } from '@/api/errors';
import type { ManifestWorkDetail } from '@/api/model';
import { Said } from '@/api/said';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Facts } from '@/shared/ui/Facts';
import { Notice } from '@/shared/ui/Notice';
import { Placeholder } from '@/shared/ui/Placeholder';
import { StateMark } from '@/shared/ui/StateMark';
import styles from './managedcluster.module.css';
import { Owner } from './Owner';
import { workDetail } from './queries';
import { conditionTone, workState, workTones } from './state';
import { managedWords } from './words';

type Item = ManifestWorkDetail['objects'][number];

/** One ManifestWork: each object, what the agent says of it, and what it read from it. */
export default function WorkDialog({ cluster, work, onDelete, onClose }: { cluster: string; work: string; onDelete: () => void; onClose: () => void }) {
  const words = useWords(managedWords);
  const may = useMay('operator');
  const explain = useExplain();
  const query = useQuery(workDetail(cluster, work));
  return (
    <Dialog onClose={onClose} wide title={work}>
      {query.data ? <Details work={query.data} /> : query.error ? <Notice explained={explain.error(query.error)} /> : <Placeholder rows={4} />}
      {/* What a policy or a replica set made would be made again. */}
      {query.data && !query.data.owner && !query.data.relayed && !query.data.removing && (
        <DialogButtons><Button variant="default" disabled={!may} title={may ? undefined : words.needRole} onClick={onDelete}>{words.deleteWork}</Button></DialogButtons>
      )}
    </Dialog>
  );
}

function Details({ work }: { work: ManifestWorkDetail }) {
  const words = useWords(managedWords);
  const state = workState(work);
  return (
    <div className={styles['plan']}>
      <Facts facts={[
        [words.state, <StateMark key="state" tone={workTones[state]}>{words.workStates[state]}</StateMark>],
        ...(work.message ? [[words.message, <Said key="said" text={work.message} />] as [string, ReactNode]] : []),
        [words.deletePolicy, words.deletePolicies[work.deletePolicy]],
        [words.executor, work.executor ? <code key="executor">{work.executor}</code> : words.executorSelf],
        [words.owner, <Owner key="owner" work={work} />],
        [words.made, <Age key="age" at={work.createdAt} ago />],
      ]} />
      <h3>{words.objects}</h3>
      <ul className={styles['objects']}>{work.objects.map((object) => <ObjectItem key={object.ordinal} object={object} />)}</ul>
    </div>
  );
}

function ObjectItem({ object }: { object: Item }) {
  const words = useWords(managedWords);
  return (
    <li className={styles['object']}>
      <div className={styles['objectHead']}>
        <span className="wrap"><strong>{object.kind}</strong> <code>{object.namespace ? `${object.namespace}/` : ''}{object.name}</code></span>
        <span className="dim small">{object.apiVersion}</span>
      </div>
      <ul className={styles['said']}>
        {object.conditions.length === 0 && <li className="dim">{words.notYet}</li>}
        {object.conditions.map((condition) => (
          <li key={condition.type}>
            <StateMark tone={conditionTone(condition.status)} plain>{condition.type}</StateMark> <code>{condition.reason}</code> <span className="dim"><Said text={condition.message} /></span>
          </li>
        ))}
      </ul>
      {object.feedback.length > 0 && <Facts facts={object.feedback.map((value) => [value.name, <code key={value.name}>{value.value}</code>])} />}
    </li>
  );
}
