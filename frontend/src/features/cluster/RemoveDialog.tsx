import '@mantine/core/styles/Checkbox.layer.css';
import '@mantine/core/styles/InlineInput.layer.css';
import { Checkbox } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useExplain } from '@/api/errors';
import type { RemovalPlan } from '@/api/model';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { ConfirmName } from '@/shared/ui/ConfirmName';
import { Dialog } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import { Placeholder } from '@/shared/ui/Placeholder';
import { Blockers } from './Blockers';
import { yields } from './blockers';
import { removalPlan, removeCluster } from './queries';
import styles from './RemoveDialog.module.css';
import { clusterWords } from './words';

/** A longer list of steps is folded, so that what follows it is seen. */
const longPlan = 12;

/** Removing is slow on purpose: first the plan, last the name typed by hand. */
export default function RemoveDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const words = useWords(clusterWords);
  const explain = useExplain();
  const plan = useQuery(removalPlan(name));
  const remove = useMutation(removeCluster(name));
  const admin = useMay('admin');
  const [force, setForce] = useState(false);
  return (
    <Dialog onClose={onClose} wide title={words.removal.title(name)}>
      <ConfirmName
        name={name} words={{ type: words.removal.type, keep: words.removal.keep, confirm: words.removeNamed }} waits={!plan.data}
        pending={remove.isPending} failed={remove.error && <Notice explained={explain.error(remove.error)} />}
        onConfirm={() => remove.mutate(force, { onSuccess: onClose })} onClose={onClose}
      >
        {plan.error ? <Notice explained={explain.error(plan.error)} /> : plan.data ? <Plan name={name} plan={plan.data} /> : <Placeholder rows={4} />}
        {admin && plan.data?.blockers.some(yields) && <Checkbox label={words.removal.force} description={words.removal.forceHint} checked={force} onChange={(event) => setForce(event.target.checked)} />}
      </ConfirmName>
    </Dialog>
  );
}

function Plan({ name, plan }: { name: string; plan: RemovalPlan }) {
  const words = useWords(clusterWords);
  return (
    <section className={styles['plan']} aria-label={words.removal.plan}>
      <h3>{words.removal.plan}</h3>
      <p>{words.removal.works(plan.works)}</p>
      {(['member', 'hub'] as const).map((where) => {
        const steps = plan.steps.filter((step) => step.where === where);
        return steps.length > 0 && (
          <details key={where} open={steps.length <= longPlan}>
            <summary className="dim small">{words.removal[where]} · {steps.length}</summary>
            <ul className={styles['steps']}>
              {steps.map((step) => <li key={`${step.what} ${step.kind} ${step.name}`}>{words.removal.whats[step.what] ?? step.what} <span className="dim">{step.kind}</span> <code>{step.name}</code></li>)}
            </ul>
          </details>
        );
      })}
      {plan.namespacesKept.length > 0 && <p><span className="dim">{words.removal.kept}: </span><code>{plan.namespacesKept.join(', ')}</code></p>}
      <Blockers ahead cluster={name} blockers={plan.blockers} />
    </section>
  );
}
