import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import { uiWords } from '@/shared/ui/words';
import styles from './Dialog.module.css';
import { OneTimePassword } from './OneTimePassword';
import { changeUser } from './queries';
import { userWords } from './words';

/** Replaces a user's password by a one-time one, shown once. */
export default function ResetDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const words = useWords(userWords);
  const ui = useWords(uiWords);
  const explain = useExplain();
  const reset = useMutation(changeUser(name));
  const password = reset.data?.password;
  return (
    <Dialog onClose={onClose} title={password ? words.made(name) : words.resetTitle(name)}>
      {password ? <OneTimePassword password={password} onClose={onClose} /> : (
        <div className={styles['form']}>
          <p>{words.resetText}</p>
          {reset.error && <Notice explained={explain.error(reset.error)} />}
          <DialogButtons>
            <Button variant="default" onClick={onClose} data-autofocus>{ui.cancel}</Button>
            <Button loading={reset.isPending} onClick={() => reset.mutate({ resetPassword: true })}>{words.reset}</Button>
          </DialogButtons>
        </div>
      )}
    </Dialog>
  );
}
