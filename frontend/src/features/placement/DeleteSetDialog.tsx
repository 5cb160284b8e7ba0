import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import styles from './placement.module.css';
import { deleteSet } from './queries';
import { placementWords } from './words';

/** Deletes a set once its name was typed. */
export default function DeleteSetDialog({ set, onClose }: { set: string; onClose: () => void }) {
  const { sets: words } = useWords(placementWords);
  const explain = useExplain();
  const remove = useMutation(deleteSet);
  const [typed, setTyped] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (typed === set) remove.mutate(set, { onSuccess: onClose });
  };
  return (
    <Dialog onClose={onClose} title={words.removeTitle(set)}>
      <form className={styles['form']} onSubmit={submit}>
        <p>{words.removeText}</p>
        <TextInput label={words.type(set)} value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" autoCapitalize="off" spellCheck={false} />
        {remove.error && <Notice explained={explain.error(remove.error)} />}
        <DialogButtons>
          <Button variant="default" onClick={onClose}>{words.keep}</Button>
          <Button type="submit" color="red" disabled={typed !== set} loading={remove.isPending}>{words.removeNamed(set)}</Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
