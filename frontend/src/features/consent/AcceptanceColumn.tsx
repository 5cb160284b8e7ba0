import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { WaitingRow } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import { Facts } from '@/shared/ui/Facts';
import { StateMark } from '@/shared/ui/StateMark';
import styles from './ConsentCard.module.css';
import type { Decision } from './queries';
import { acceptanceOf, canAccept, requesterOf } from './state';
import { consentWords } from './words';

/** The second consent: which cluster is to be accepted. */
export function AcceptanceColumn({ row, may, onDecide }: { row: WaitingRow; may: boolean; onDecide: (decision: Decision) => void }) {
  const words = useWords(consentWords);
  const { key, tone } = acceptanceOf(row);
  const by = row.accepted ? row.acceptedBy : row.deniedBy;
  const facts: [string, ReactNode][] = [
    [words.urls, row.urls.length > 0 ? row.urls.map((url) => <code key={url} className="wrap">{url}</code>) : <span key="none" className="dim">{words.noUrl}</span>],
    ...(row.version ? [[words.version, row.version] as [string, ReactNode]] : []),
    ...(row.createdBy ? [[words.introducedBy, <span key="by" title={row.createdBy}>{requesterOf(words, row.createdBy)}</span>] as [string, ReactNode]] : []),
    ...(by ? [[words.decided, words.decidedBy(by)] as [string, ReactNode]] : []),
  ];
  return (
    <div role="group" className={styles['column']} aria-label={words.acceptance}>
      <div className={styles['title']}>
        <h3>{words.acceptance}<StateMark tone={tone}>{words.acceptances[key]}</StateMark></h3>
        {canAccept(row) && (
          <Button size="compact-sm" variant="default" disabled={!may} title={may ? undefined : words.needRole} aria-label={words.acceptNamed(row.cluster)} onClick={() => onDecide({ action: 'accept', rows: [row] })}>{words.accept}</Button>
        )}
      </div>
      {row.exists && <Facts facts={facts} />}
      {row.denied && row.deniedReason && <p className="wrap">{words.deniedFor(row.deniedReason)}</p>}
    </div>
  );
}
