import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import type { ApprovalRule } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import styles from './Dialog.module.css';
import { removeRule } from './queries';
import { consentWords } from './words';

/** Asks once before a rule lets nobody in any more. */
export default function RemoveRuleDialog({ rule, onClose }: { rule: ApprovalRule; onClose: () => void }) {
  const words = useWords(consentWords);
  const explain = useExplain();
  const remove = useMutation(removeRule);
  return (
    <Dialog onClose={onClose} title={words.removeTitle}>
      <div className={styles['form']}>
        <p className="wrap">{words.removeText(rule.value)}</p>
        {remove.error && <Notice explained={explain.error(remove.error)} />}
        <DialogButtons>
          <Button variant="default" onClick={onClose} data-autofocus>{words.keep}</Button>
          <Button color="red" loading={remove.isPending} onClick={() => remove.mutate(rule.id, { onSuccess: onClose })}>{words.remove}</Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}
