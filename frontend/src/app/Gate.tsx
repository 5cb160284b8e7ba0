import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { useExplain } from '@/api/errors';
import { sessionOptions } from '@/api/hub';
import { SessionProvider } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import styles from './Gate.module.css';
import { Shell } from './shell/Shell';
import { LanguageButton, ThemeButton } from './shell/Switches';
import { appWords } from './words';

const LoginPage = lazy(() => import('@/features/session/LoginPage'));
const PasswordPage = lazy(() => import('@/features/session/PasswordPage'));

const tools = <><LanguageButton /><ThemeButton /></>;

/** Nobody passes without a session, nor with a password that somebody else has seen. The address stays, so a deep link holds. */
export function Gate() {
  const words = useWords(appWords);
  const explain = useExplain();
  const { data: session, error, refetch, isFetching } = useQuery(sessionOptions);
  if (error) {
    return (
      <main className={styles['fault']}>
        <Notice explained={explain.error(error)} action={<Button loading={isFetching} onClick={() => void refetch()}>{words.retry}</Button>} />
      </main>
    );
  }
  if (session === undefined) return null;
  if (session === null) return <Suspense><LoginPage tools={tools} /></Suspense>;
  return (
    <SessionProvider value={session} key={session.user.name}>
      {session.mustChangePassword ? <Suspense><PasswordPage tools={tools} /></Suspense> : <Shell />}
    </SessionProvider>
  );
}
