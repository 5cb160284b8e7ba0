import { Button } from '@mantine/core';
import { useWords } from '@/shared/hooks/useWords';
import { CommandBlock } from '@/shared/ui/CommandBlock';
import { DialogButtons } from '@/shared/ui/Dialog';
import styles from './Dialog.module.css';
import { userWords } from './words';

/** A password that is shown this once. */
export function OneTimePassword({ password, onClose }: { password: string; onClose: () => void }) {
  const words = useWords(userWords);
  return (
    <div className={styles['form']}>
      <p>{words.once}</p>
      <CommandBlock text={password} what={words.password} />
      <DialogButtons><Button onClick={onClose}>{words.done}</Button></DialogButtons>
    </div>
  );
}
