import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import type { WorkloadKey } from '../queries';
import styles from './Editor.module.css';
import { remove as removeOf } from './queries';
import { authorWords } from './words';

/** Removing is slow on purpose: first what goes with it, last the name typed by hand. */
export default function RemoveDialog({ at, clusters, onClose }: { at: WorkloadKey; clusters: number; onClose: () => void }) {
  const words = useWords(authorWords).removal;
  const explain = useExplain();
  const [typed, setTyped] = useState('');
  const remove = useMutation(removeOf(at));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (typed === at.name) remove.mutate(undefined, { onSuccess: onClose });
  };
  return (
    <Dialog onClose={onClose} title={words.title(at.kind, at.name)}>
      <form className={styles['remove']} onSubmit={submit}>
        <p>{clusters > 0 ? words.placed(clusters) : words.nowhere}</p>
        <TextInput label={words.type(at.name)} value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" spellCheck={false} data-autofocus />
        {remove.error && <Notice explained={explain.error(remove.error)} />}
        <DialogButtons>
          <Button variant="default" onClick={onClose}>{words.keep}</Button>
          <Button type="submit" color="red" disabled={typed !== at.name} loading={remove.isPending}>{words.confirm(at.name)}</Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
