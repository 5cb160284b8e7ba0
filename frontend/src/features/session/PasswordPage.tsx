import { Button } from '@mantine/core';
import { useSignOut } from '@/api/signout';
import { useWords } from '@/shared/hooks/useWords';
import { Door } from './Door';
import { PasswordForm } from './PasswordForm';
import { sessionWords } from './words';

/** What a user with a password made by somebody else sees instead of the dashboard. */
export default function PasswordPage() {
  const words = useWords(sessionWords);
  const signOut = useSignOut();
  return (
    <Door title={words.newTitle}>
      <p className="dim">{words.newText}</p>
      <PasswordForm focus aside={<Button variant="default" onClick={signOut}>{words.signOut}</Button>} />
    </Door>
  );
}
