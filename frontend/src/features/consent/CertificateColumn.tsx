import { Button } from '@mantine/core';
import type { CertificateRequest, WaitingRow } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import { StateMark } from '@/shared/ui/StateMark';
import styles from './ConsentCard.module.css';
import type { Decision } from './queries';
import { RequestFacts } from './RequestFacts';
import { certificateTones, leading } from './state';
import { consentWords } from './words';

interface ColumnProps {
  row: WaitingRow;
  may: boolean;
  onDecide: (decision: Decision) => void;
}

const approvable = (request: CertificateRequest) => request.state === 'pending' && !request.problem;

/** The first consent: who asks for a certificate, with which key. */
export function CertificateColumn({ row, may, onDecide }: ColumnProps) {
  const words = useWords(consentWords);
  const first = leading(row);
  const others = row.requests.filter((request) => request !== first);
  const waiting = row.requests.filter((request) => approvable(request) && !request.superseded);
  const approve = (request: CertificateRequest) => onDecide({ action: 'approve', rows: [row], request: request.name });
  const button = (request: CertificateRequest) => approvable(request) && (
    <Button size="compact-sm" variant="default" disabled={!may} title={may ? undefined : words.needRole} aria-label={words.approveNamed(row.cluster)} onClick={() => approve(request)}>{words.approve}</Button>
  );
  return (
    <div role="group" className={styles['column']} aria-label={words.certificate}>
      <div className={styles['title']}>
        <h3>{words.certificate}<StateMark tone={certificateTones[row.certificate]}>{words.certificates[row.certificate]}</StateMark></h3>
        {first && button(first)}
      </div>
      {first && <RequestFacts request={first} />}
      {row.joined && waiting.some((request) => !request.renewal) && <Notice tone="warn" title={words.alreadyJoined} />}
      {others.some(approvable) && <p className="dim">{words.several(row.requests.filter(approvable).length)}</p>}
      {others.length > 0 && (
        <details className={styles['more']}>
          <summary>{words.older(others.length)}</summary>
          {others.map((request) => (
            <div key={request.name} className={styles['request']}>
              <p><StateMark tone={certificateTones[request.state]}>{words.certificates[request.state]}</StateMark> {request.superseded && request.state === 'pending' && <span className="dim">{words.left}</span>}</p>
              <RequestFacts request={request} />
              {button(request)}
            </div>
          ))}
        </details>
      )}
    </div>
  );
}
