import { Button, TextInput } from '@mantine/core';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { useExplain } from '@/api/errors';
import { type PolicyAt, paths } from '@/app/paths';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import { count } from '@/shared/ui/time';
import styles from './DeleteDialog.module.css';
import type { Family } from './kinds';
import { policyEffect, removePolicy } from './queries';
import { policyWords } from './words';

/** Deleting is slow on purpose: first what stays and what does not, last the name typed by hand. */
export default function DeleteDialog({ at, family, onClose }: { at: PolicyAt; family: Family; onClose: () => void }) {
  const words = useWords(policyWords).removal;
  const explain = useExplain();
  const { language } = useLanguage();
  const [, navigate] = useLocation();
  const [typed, setTyped] = useState('');
  const effect = useInfiniteQuery(policyEffect(at));
  const remove = useMutation(removePolicy(at));
  const matched = effect.data?.pages[0]?.matched ?? 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (typed === at.name) remove.mutate(undefined, { onSuccess: () => navigate(paths.policies()) });
  };
  return (
    <Dialog onClose={onClose} title={words.title(at.name)}>
      <form className={styles['form']} onSubmit={submit}>
        {matched > 0 && <p>{words.holds(count(language, matched))}</p>}
        <p>{words[family]}</p>
        {family === 'propagation' && <p className="dim">{words.toRemove}</p>}
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
