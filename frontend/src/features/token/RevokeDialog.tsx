import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import styles from './Dialog.module.css';
import { revokeToken } from './queries';
import { tokenWords } from './words';

/** Asks once before a token stops working. */
export default function RevokeDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const words = useWords(tokenWords);
  const explain = useExplain();
  const revoke = useMutation(revokeToken);
  return (
    <Dialog onClose={onClose} title={words.revokeTitle(id)}>
      <div className={styles['form']}>
        <p>{words.revokeText}</p>
        {revoke.error && <Notice explained={explain.error(revoke.error)} />}
        <DialogButtons>
          <Button variant="default" onClick={onClose} data-autofocus>{words.keep}</Button>
          <Button color="red" loading={revoke.isPending} onClick={() => revoke.mutate(id, { onSuccess: onClose })}>{words.revokeNamed(id)}</Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}
