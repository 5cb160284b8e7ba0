import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Activity, Suspense } from 'react';
import { useExplain } from '@/api/errors';
import { expiredSession, sessionOptions } from '@/api/hub';
import { SessionProvider } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { Notice } from '@/shared/ui/Notice';
import styles from './Gate.module.css';
import { Shell } from './shell/Shell';
import { LanguageButton, ThemeButton } from './shell/Switches';
import { appWords } from './words';

const LoginPage = part(() => import('@/features/session/LoginPage'));
const PasswordPage = part(() => import('@/features/session/PasswordPage'));

const tools = <><LanguageButton /><ThemeButton /></>;

const again = 3_000;

/**
 * Nobody passes without a session, nor with a password that somebody else has seen. The address stays, so a deep link holds;
 * behind the door waits the page of a session that ended by itself, for its user only.
 */
export function Gate() {
  const words = useWords(appWords);
  const explain = useExplain();
  const { data: session, error, refetch, isFetching } = useQuery({ ...sessionOptions, refetchInterval: ({ state }) => (state.error ? again : false) });
  if (error && !session) {
    return (
      <main className={styles['fault']}>
        <Notice explained={explain.error(error)} action={<Button loading={isFetching} onClick={() => void refetch()}>{words.retry}</Button>} />
      </main>
    );
  }
  if (session === undefined) return null;
  const shown = session ?? expiredSession();
  return (
    <>
      {session === null && <Suspense><LoginPage tools={tools} /></Suspense>}
      {shown && (
        <Activity key={shown.user.name} mode={session ? 'visible' : 'hidden'}>
          <SessionProvider value={shown}>
            {shown.mustChangePassword ? <Suspense><PasswordPage tools={tools} /></Suspense> : <Shell />}
          </SessionProvider>
        </Activity>
      )}
    </>
  );
}
