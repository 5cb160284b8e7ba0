import { Link } from 'wouter';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import type { OverrideChange } from './types';
import { workloadWords } from './words';

/** What the hub calls a change that comes from scheduling, by the propagation policy, rather than from an override. */
const byScheduling = 'replicas';

/** The rule that changed a line, with the way to its policy. */
export function RuleName({ change: { policy, rule, overrider }, full = false }: { change: OverrideChange; full?: boolean }) {
  const words = useWords(workloadWords);
  const name = policy.namespace ? `${policy.namespace}/${policy.name}` : policy.name;
  const scheduled = overrider === byScheduling;
  const kind = full && policy.name !== '' && <><span className="dim">{policy.kind}</span>{' '}</>;
  return (
    <>
      {kind}{policy.name !== '' && <Link href={paths.policy(policy)} title={policy.kind}>{scheduled ? name : words.rule(name, rule + 1)}</Link>}{' '}
      {scheduled ? <span className="dim">{words.scheduling}</span> : <code className={full ? undefined : 'dim'}>{overrider}</code>}
    </>
  );
}
