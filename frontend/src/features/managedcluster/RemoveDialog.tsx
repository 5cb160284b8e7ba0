import { useMutation, useQuery } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import type { ManagedDetail, ManagedRemovalPlan } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import { ConfirmName } from '@/shared/ui/ConfirmName';
import { Dialog } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import { Placeholder } from '@/shared/ui/Placeholder';
import styles from './managedcluster.module.css';
import { Blockers } from './Blockers';
import { removalPlan, removeManaged } from './queries';
import { managedWords } from './words';

/** Removing is slow on purpose: first the plan with what would hold it up, last the name typed by hand. */
export default function RemoveDialog({ cluster, onClose }: { cluster: ManagedDetail; onClose: () => void }) {
  const words = useWords(managedWords);
  const explain = useExplain();
  const plan = useQuery(removalPlan(cluster.name));
  const remove = useMutation(removeManaged(cluster.name));
  return (
    <Dialog onClose={onClose} wide title={words.removal.title(cluster.name)}>
      <ConfirmName
        name={cluster.name} words={{ type: words.removal.type, keep: words.removal.keep, confirm: words.removeNamed }} waits={!plan.data}
        pending={remove.isPending} failed={remove.error && <Notice explained={explain.error(remove.error)} />}
        onConfirm={() => remove.mutate(undefined, { onSuccess: onClose })} onClose={onClose}
      >
        {plan.error ? <Notice explained={explain.error(plan.error)} /> : plan.data ? <Plan plan={plan.data} cluster={cluster} /> : <Placeholder rows={4} />}
      </ConfirmName>
    </Dialog>
  );
}

function Plan({ plan, cluster }: { plan: ManagedRemovalPlan; cluster: ManagedDetail }) {
  const words = useWords(managedWords);
  return (
    <section className={styles['plan']} aria-label={words.removal.plan}>
      <h3>{words.removal.plan}</h3>
      <p>{words.removal.works(plan.works.length)}</p>
      {plan.works.length > 0 && (
        <ul className={styles['steps']}>
          {plan.works.map((work) => <li key={work.name}><code>{work.name}</code> <span className="dim">{words.deletePolicies[work.policy]}</span></li>)}
        </ul>
      )}
      <p className="dim small">{words.removal.hub}</p>
      <ul className={styles['steps']}>
        {plan.steps.map((step) => <li key={`${step.kind} ${step.name}`}>{words.removal.verbs[step.what]} <span className="dim">{step.kind}</span> <code>{step.name}</code></li>)}
      </ul>
      {cluster.dialect === 'karmada' ? <Notice tone="warn" title={words.removal.karmada} /> : <p className="dim">{words.removal.agent}</p>}
      {plan.blockers.length > 0 && <h3>{words.removal.willWait}</h3>}
      <Blockers cluster={cluster.name} blockers={plan.blockers} />
    </section>
  );
}
