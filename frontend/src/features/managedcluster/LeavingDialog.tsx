import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import { Placeholder } from '@/shared/ui/Placeholder';
import { uiWords } from '@/shared/ui/words';
import { Blockers } from './Blockers';
import styles from './managedcluster.module.css';
import { removalPlan } from './queries';
import { managedWords } from './words';

/** A removal that is under way: what it waits for, which changes by itself, and how to mend that. */
export default function LeavingDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const words = useWords(managedWords);
  const ui = useWords(uiWords);
  const explain = useExplain();
  const plan = useQuery(removalPlan(name));
  return (
    <Dialog onClose={onClose} wide title={words.removal.waitsTitle}>
      <div className={styles['form']}>
        {plan.data ? <Blockers cluster={name} blockers={plan.data.blockers} /> : plan.error ? <Notice explained={explain.error(plan.error)} /> : <Placeholder rows={2} />}
        {plan.data?.blockers.length === 0 && <p>{words.removal.nothingHeld}</p>}
        <DialogButtons><Button variant="default" onClick={onClose}>{ui.close}</Button></DialogButtons>
      </div>
    </Dialog>
  );
}
