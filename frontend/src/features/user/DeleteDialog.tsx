import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import styles from './Dialog.module.css';
import { deleteUser } from './queries';
import { userWords } from './words';

/** Asks once before a user is gone. */
export default function DeleteDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const words = useWords(userWords);
  const explain = useExplain();
  const remove = useMutation(deleteUser(name));
  return (
    <Dialog onClose={onClose} title={words.removeTitle(name)}>
      <div className={styles['form']}>
        <p>{words.removeText}</p>
        {remove.error && <Notice explained={explain.error(remove.error)} />}
        <DialogButtons>
          <Button variant="default" onClick={onClose} data-autofocus>{words.keep}</Button>
          <Button color="red" loading={remove.isPending} onClick={() => remove.mutate(undefined, { onSuccess: onClose })}>{words.removeTitle(name)}</Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}
