import { Button, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { DialogButtons } from './Dialog';
import styles from './ConfirmName.module.css';

interface ConfirmNameProps {
  name: string;
  /** What the field, the way back and the act are called. */
  words: { type: (name: string) => string; keep: string; confirm: (name: string) => string };
  /** What is to be read before one may agree is not there yet; where there is such a thing, the field does not take the focus from it. */
  waits?: boolean;
  pending: boolean;
  failed: ReactNode;
  onConfirm: () => void;
  onClose: () => void;
  /** What goes, and what does not. */
  children: ReactNode;
}

/** The inside of a dialog that removes something: slow on purpose, with the name typed by hand. */
export function ConfirmName({ name, words, waits, pending, failed, onConfirm, onClose, children }: ConfirmNameProps) {
  const [typed, setTyped] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (typed === name && !waits) onConfirm();
  };
  return (
    <form className={styles['form']} onSubmit={submit}>
      {children}
      <TextInput label={words.type(name)} value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" autoCapitalize="off" spellCheck={false} data-autofocus={waits === undefined || undefined} />
      {failed}
      <DialogButtons>
        <Button variant="default" onClick={onClose}>{words.keep}</Button>
        <Button type="submit" color="red" disabled={typed !== name || waits} loading={pending}>{words.confirm(name)}</Button>
      </DialogButtons>
    </form>
  );
}
