import { Button, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useExplain } from '@/api/errors';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import { Placeholder } from '@/shared/ui/Placeholder';
import { uiWords } from '@/shared/ui/words';
import { Blockers } from './Blockers';
import { removalPlan, removeCluster } from './queries';
import styles from './RemoveDialog.module.css';
import { clusterWords } from './words';

/** What a removal under way waits for changes by itself. */
const refresh = 3_000;

/** A removal that is under way: what it waits for, and for administrators the way to wait no longer. */
export default function ForceDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const words = useWords(clusterWords);
  const ui = useWords(uiWords);
  const explain = useExplain();
  const admin = useMay('admin');
  const plan = useQuery({ ...removalPlan(name), refetchInterval: refresh });
  const force = useMutation(removeCluster(name));
  const [typed, setTyped] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (admin && typed === name) force.mutate(true, { onSuccess: onClose });
  };
  return (
    <Dialog onClose={onClose} wide title={words.removal.forceTitle(name)}>
      <form className={styles['form']} onSubmit={submit}>
        {plan.data ? <Blockers cluster={name} blockers={plan.data.blockers} /> : plan.error ? <Notice explained={explain.error(plan.error)} /> : <Placeholder rows={2} />}
        {plan.data?.blockers.length === 0 && <p>{words.removal.nothingHeld}</p>}
        {admin && (
          <>
            <p className="dim">{words.removal.forceHint}</p>
            <TextInput label={words.removal.type(name)} value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" autoCapitalize="off" spellCheck={false} />
          </>
        )}
        {force.error && <Notice explained={explain.error(force.error)} />}
        <DialogButtons>
          <Button variant="default" onClick={onClose}>{ui.close}</Button>
          {admin && <Button type="submit" color="red" disabled={typed !== name} loading={force.isPending}>{words.removal.forceDo}</Button>}
        </DialogButtons>
      </form>
    </Dialog>
  );
}
