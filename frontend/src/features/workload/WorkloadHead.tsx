import { Link } from 'wouter';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import { StateMark } from '@/shared/ui/StateMark';
import { sentence } from './sentence';
import { tones } from './state';
import type { WorkloadDetail } from './types';
import { workloadWords } from './words';
import { ReplicasCell } from './workloadColumns';

const noticeTones = { failed: 'bad', unscheduled: 'warn', pending: 'info', progressing: 'info', unmanaged: 'info' } as const;

/** Name, state with its reason, and what it is. */
export function WorkloadHead({ detail: { row } }: { detail: WorkloadDetail }) {
  const words = useWords(workloadWords);
  return (
    <>
      <PageHead
        title={row.name}
        below={
          <>
            <StateMark tone={tones[row.state]}>{words.states[row.state]}</StateMark>
            <span>{row.kind}</span>
            {row.namespace && <code>{row.namespace}</code>}
            {row.policy && <span>{words.policy} <Link href={paths.policy(row.policy)}>{row.policy.name}</Link></span>}
            <span>{words.dots(row.clusters.length)}</span>
            {row.replicas && <span>{words.replicas} <ReplicasCell row={row} words={words} /></span>}
          </>
        }
      />
      {row.state !== 'ok' && (
        <Notice tone={noticeTones[row.state]} title={row.reason ? sentence(words, { text: row.reason, code: row.reasonCode, params: row.reasonParams }) : words.noReason[row.state]} />
      )}
    </>
  );
}
