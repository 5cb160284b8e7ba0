import { Button } from '@mantine/core';
import { Suspense, useState } from 'react';
import { Link } from 'wouter';
import { useMay } from '@/api/session';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { PageHead } from '@/shared/ui/PageHead';
import { StateMark } from '@/shared/ui/StateMark';
import type { WorkloadKey } from './queries';
import { Replicas } from './Replicas';
import { tones } from './state';
import type { WorkloadDetail } from './types';
import { workloadWords } from './words';

const RemoveDialog = part(() => import('./author/RemoveDialog'));

/** Name, state and what it is, and what can be done with it; why it is so stands in the tabs. */
export function WorkloadHead({ workload, detail: { row } }: { workload: WorkloadKey; detail: WorkloadDetail }) {
  const words = useWords(workloadWords);
  const may = useMay('operator');
  const [removing, setRemoving] = useState(false);
  const why = may ? undefined : words.needRole;
  return (
    <>
      <PageHead
        title={row.name}
        below={
          <>
            <StateMark tone={tones[row.state]}>{words.states[row.state]}</StateMark>
            <span>{row.kind}</span>
            {row.namespace && <code>{row.namespace}</code>}
            {row.policy && <span className="linked">{words.policy} <Link href={paths.policy(row.policy)}>{row.policy.name}</Link></span>}
            <span>{words.dots(row.clusters.length)}</span>
            {row.replicas && <span>{words.replicas} <Replicas of={row.replicas} /></span>}
          </>
        }
        actions={<>
          {may ? <Button variant="default" component={Link} href={paths.editWorkload(row)}>{words.edit}</Button> : <Button variant="default" disabled title={why}>{words.edit}</Button>}
          <Button variant="default" disabled={!may} title={why} onClick={() => setRemoving(true)}>{words.remove}</Button>
        </>}
      />
      {removing && <Suspense><RemoveDialog at={workload} clusters={row.clusters.length} onClose={() => setRemoving(false)} /></Suspense>}
    </>
  );
}
