import { Link } from 'wouter';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { PageHead } from '@/shared/ui/PageHead';
import { StateMark } from '@/shared/ui/StateMark';
import { Replicas } from './Replicas';
import { tones } from './state';
import type { WorkloadDetail } from './types';
import { workloadWords } from './words';

/** Name, state and what it is; why it is so stands in the tabs. */
export function WorkloadHead({ detail: { row } }: { detail: WorkloadDetail }) {
  const words = useWords(workloadWords);
  return (
    <PageHead
      title={row.name}
      below={
        <>
          <StateMark tone={tones[row.state]}>{words.states[row.state]}</StateMark>
          <span>{row.kind}</span>
          {row.namespace && <code>{row.namespace}</code>}
          {row.policy && <span>{words.policy} <Link href={paths.policy(row.policy)}>{row.policy.name}</Link></span>}
          <span>{words.dots(row.clusters.length)}</span>
          {row.replicas && <span>{words.replicas} <Replicas of={row.replicas} /></span>}
        </>
      }
    />
  );
}
