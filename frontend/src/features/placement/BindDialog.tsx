import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import { uiWords } from '@/shared/ui/words';
import styles from './placement.module.css';
import { bindSet } from './queries';
import { placementWords } from './words';

/** Binds a set to one more namespace. */
export default function BindDialog({ set, onClose }: { set: string; onClose: () => void }) {
  const { sets: words } = useWords(placementWords);
  const ui = useWords(uiWords);
  const explain = useExplain();
  const bind = useMutation(bindSet);
  const [namespace, setNamespace] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (namespace.trim()) bind.mutate({ set, namespace: namespace.trim() }, { onSuccess: onClose });
  };
  return (
    <Dialog onClose={onClose} title={words.bindTitle(set)}>
      <form className={styles['form']} onSubmit={submit}>
        <p className="dim">{words.bindText}</p>
        <TextInput label={words.namespace} value={namespace} onChange={(event) => setNamespace(event.target.value)} autoComplete="off" spellCheck={false} data-autofocus />
        {bind.error && <Notice explained={explain.error(bind.error)} />}
        <DialogButtons>
          <Button variant="default" onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" disabled={!namespace.trim()} loading={bind.isPending}>{words.bindDo}</Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
