import { Button, PasswordInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '@/api/client';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import styles from './Door.module.css';
import { changePassword } from './queries';
import { sessionWords } from './words';

const least = 12;

/** Replaces the user's password; the hub has the last word on what is good enough. */
export function PasswordForm({ focus, aside, onSaved }: { focus?: boolean; aside?: ReactNode; onSaved?: () => void }) {
  const words = useWords(sessionWords);
  const explain = useExplain();
  const change = useMutation(changePassword);
  const form = useForm({
    initialValues: { current: '', next: '', again: '' },
    validate: {
      current: (value) => (value ? null : words.needed),
      next: (value, all) => (value.length < least ? words.tooShort(least) : value === all.current ? words.same : null),
      again: (value, all) => (value === all.next ? null : words.differs),
    },
  });
  const refused = change.error instanceof ApiError && change.error.code === 'bad-credentials';
  const submit = form.onSubmit(({ current, next }) => change.mutate({ current, next }, { onSuccess: onSaved }));
  return (
    <form className={styles['form']} noValidate onSubmit={submit}>
      <PasswordInput label={words.current} autoComplete="current-password" autoFocus={focus} {...form.getInputProps('current')} error={form.errors['current'] ?? (refused && words.wrongCurrent)} />
      <PasswordInput label={words.next} description={words.tooShort(least)} autoComplete="new-password" {...form.getInputProps('next')} />
      <PasswordInput label={words.again} autoComplete="new-password" {...form.getInputProps('again')} />
      {change.error && !refused && <Notice explained={explain.error(change.error)} />}
      <div className={styles['row']}>
        {aside}
        <Button type="submit" loading={change.isPending}>{words.save}</Button>
      </div>
    </form>
  );
}
