import { Button, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useExplain } from '@/api/errors';
import { useFollow } from '@/api/hub';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import { Placeholder } from '@/shared/ui/Placeholder';
import { uiWords } from '@/shared/ui/words';
import { Blockers } from './Blockers';
import { yields } from './blockers';
import { removalPlan, removalTopics, removeCluster } from './queries';
import styles from './RemoveDialog.module.css';
import { clusterWords } from './words';

/** A removal that is under way: what it waits for, which changes by itself, and for administrators the way to wait no longer. */
export default function ForceDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const words = useWords(clusterWords);
  const ui = useWords(uiWords);
  const explain = useExplain();
  const admin = useMay('admin');
  const [works, manifestWorks] = removalTopics(name);
  useFollow('clusters');
  useFollow(works);
  useFollow(manifestWorks);
  const plan = useQuery(removalPlan(name));
  const force = useMutation(removeCluster(name));
  const blockers = plan.data?.blockers;
  // Against finalizers of others force is of no use.
  const may = admin && blockers && (blockers.length === 0 || blockers.some(yields));
  const [typed, setTyped] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (may && typed === name) force.mutate(true, { onSuccess: onClose });
  };
  return (
    <Dialog onClose={onClose} wide title={words.removal.forceTitle(name)}>
      <form className={styles['form']} onSubmit={submit}>
        {blockers ? <Blockers cluster={name} blockers={blockers} /> : plan.error ? <Notice explained={explain.error(plan.error)} /> : <Placeholder rows={2} />}
        {blockers?.length === 0 && <p>{words.removal.nothingHeld}</p>}
        {may && (
          <>
            <p className="dim">{words.removal.forceHint}</p>
            <TextInput label={words.removal.type(name)} value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" autoCapitalize="off" spellCheck={false} />
          </>
        )}
        {force.error && <Notice explained={explain.error(force.error)} />}
        <DialogButtons>
          <Button variant="default" onClick={onClose}>{ui.close}</Button>
          {may && <Button type="submit" color="red" disabled={typed !== name} loading={force.isPending}>{words.removal.forceDo}</Button>}
        </DialogButtons>
      </form>
    </Dialog>
  );
}
