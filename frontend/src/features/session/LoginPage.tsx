import { Button, PasswordInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { ApiError } from '@/api/client';
import { useExplain } from '@/api/errors';
import { expiredSession, infoOptions, joinSession } from '@/api/hub';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import { Door } from './Door';
import styles from './Door.module.css';
import { signIn } from './queries';
import { sessionWords } from './words';

/** Asks for name and password; before the first login ever it says where they were printed. */
export default function LoginPage({ tools }: { tools: ReactNode }) {
  const words = useWords(sessionWords);
  const explain = useExplain();
  const { data: info } = useQuery(infoOptions);
  const login = useMutation(signIn);
  const form = useForm({
    initialValues: { username: '', password: '' },
    validate: { username: (value) => (value ? null : words.needed), password: (value) => (value ? null : words.needed) },
  });
  useEffect(() => {
    window.addEventListener('focus', joinSession);
    return () => window.removeEventListener('focus', joinSession);
  }, []);
  const refused = login.error instanceof ApiError && login.error.status === 401;
  return (
    <Door tools={tools} title={words.signInTitle} foot={info && words.version(info.version)}>
      {info?.firstRun && (
        <Notice tone="info" title={words.firstRun}><p>{words.firstRunText}</p></Notice>
      )}
      {expiredSession() && <Notice tone="info" title={words.expired}><p>{words.expiredText}</p></Notice>}
      <form className={styles['form']} onSubmit={form.onSubmit((values) => login.mutate(values))} onChange={() => login.error && login.reset()} noValidate>
        <TextInput label={words.username} autoComplete="username" autoCapitalize="off" spellCheck={false} data-autofocus autoFocus {...form.getInputProps('username')} />
        <PasswordInput label={words.password} autoComplete="current-password" {...form.getInputProps('password')} />
        {login.error && <Notice explained={refused ? { what: words.wrong, fix: info?.firstRun ? undefined : words.forgot } : explain.error(login.error)} />}
        <Button type="submit" loading={login.isPending}>{words.signIn}</Button>
      </form>
    </Door>
  );
}
