import '@mantine/core/styles/Checkbox.layer.css';
import '@mantine/core/styles/InlineInput.layer.css';
import { Button, Checkbox } from '@mantine/core';
import type { BulkDecision, WaitingRow } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import type { Decision } from './queries';
import { canAccept, canApprove } from './state';
import styles from './WaitingRoomPage.module.css';
import { consentWords } from './words';

interface BulkBarProps {
  waiting: WaitingRow[];
  chosen: WaitingRow[];
  onChoose: (all: boolean) => void;
  onDecide: (decision: Decision) => void;
}

/** Decides on several clusters at once. */
export function BulkBar({ waiting, chosen, onChoose, onDecide }: BulkBarProps) {
  const words = useWords(consentWords);
  const button = (action: BulkDecision['action'], label: string, fits: (row: WaitingRow) => boolean) => {
    const rows = chosen.filter(fits);
    return <Button size="compact-sm" variant={action === 'approve-and-accept' ? 'filled' : 'default'} disabled={rows.length === 0} onClick={() => onDecide({ action, rows })}>{label}</Button>;
  };
  const all = chosen.length === waiting.length;
  return (
    <div className={styles['bulk']} role="group" aria-label={words.chosen(chosen.length)}>
      <Checkbox label={chosen.length > 0 ? words.chosen(chosen.length) : words.chooseAll} checked={all} indeterminate={chosen.length > 0 && !all} onChange={() => onChoose(!all)} />
      {chosen.length > 0 && (
        <span className={styles['decide']}>
          {button('approve-and-accept', words.both, (row) => canApprove(row) || canAccept(row))}
          {button('approve', words.approve, canApprove)}
          {button('accept', words.accept, canAccept)}
          {button('deny', words.deny, () => true)}
        </span>
      )}
    </div>
  );
}
