import '@mantine/core/styles/Checkbox.layer.css';
import '@mantine/core/styles/InlineInput.layer.css';
import { Button, Checkbox } from '@mantine/core';
import { memo, useState } from 'react';
import type { WaitingRow } from '@/api/model';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { StateMark } from '@/shared/ui/StateMark';
import { AcceptanceColumn } from './AcceptanceColumn';
import { CertificateColumn } from './CertificateColumn';
import styles from './ConsentCard.module.css';
import type { Decision } from './queries';
import { canAccept, canApprove, canDeny, standing } from './state';
import { consentWords } from './words';

interface ConsentCardProps {
  row: WaitingRow;
  onDecide: (decision: Decision) => void;
  /** Leave it out where there is nothing to choose from. */
  chosen?: boolean;
  /** Leave it out where one cluster stands alone. */
  onChoose?: (cluster: string, chosen: boolean) => void;
}

/** One cluster with its two consents side by side; they are independent of each other. */
export const ConsentCard = memo(function ConsentCard({ row, onDecide, chosen, onChoose }: ConsentCardProps) {
  const words = useWords(consentWords);
  const may = useMay('operator');
  const { label, tone } = standing(words, row);
  const title = may ? undefined : words.needRole;
  // What was decided before one looked is folded; what is decided now stays as it is, so that nothing moves under the pointer.
  const [folded, setFolded] = useState(onChoose !== undefined && !row.waits);
  return (
    <article className={styles['card']} aria-label={row.cluster} data-waits={row.waits || undefined}>
      <header className={styles['head']}>
        {onChoose && chosen !== undefined && row.waits && <Checkbox aria-label={words.choose(row.cluster)} checked={chosen} disabled={!may} onChange={(event) => onChoose(row.cluster, event.currentTarget.checked)} />}
        <h2 className={styles['name']}>{row.cluster}</h2>
        <StateMark tone={tone}>{label}</StateMark>
        <span className="dim small"><Age at={row.createdAt} ago /></span>
        <span className={styles['actions']}>
          {canApprove(row) && canAccept(row) && !row.denied && (
            <Button disabled={!may} title={title} aria-label={words.bothNamed(row.cluster)} onClick={() => onDecide({ action: 'approve-and-accept', rows: [row] })}>{words.both}</Button>
          )}
          {folded && <Button variant="subtle" aria-expanded={false} aria-label={words.detailsOf(row.cluster)} onClick={() => setFolded(false)}>{words.details}</Button>}
          {canDeny(row) && <Button variant="default" disabled={!may} title={title} aria-label={words.denyNamed(row.cluster)} onClick={() => onDecide({ action: 'deny', rows: [row] })}>{words.deny}</Button>}
        </span>
      </header>
      {!folded && (
        <div className={styles['columns']}>
          <CertificateColumn row={row} may={may} onDecide={onDecide} />
          <AcceptanceColumn row={row} may={may} onDecide={onDecide} />
        </div>
      )}
    </article>
  );
});
