import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useSignOut } from '@/api/signout';
import { useWords } from '@/shared/hooks/useWords';
import { Door } from './Door';
import { PasswordForm } from './PasswordForm';
import { sessionWords } from './words';

/** What a user with a password made by somebody else sees instead of the dashboard. */
export default function PasswordPage({ tools }: { tools: ReactNode }) {
  const words = useWords(sessionWords);
  const signOut = useSignOut();
  return (
    <Door tools={tools} title={words.newTitle}>
      <p className="dim">{words.newText}</p>
      <PasswordForm focus aside={<Button variant="default" onClick={signOut}>{words.signOut}</Button>} />
    </Door>
  );
}
