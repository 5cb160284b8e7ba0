import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useExplain } from '@/api/errors';
import { ApiError } from '@/api/client';
import type { BulkDecision, BulkOutcome, WaitingRow } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import styles from './Dialog.module.css';
import { Fingerprint } from './Fingerprint';
import { decide, type Decision } from './queries';
import { leading } from './state';
import { consentWords } from './words';
import type { ConsentWords } from './words.en';

function wording(words: ConsentWords, action: BulkDecision['action'], rows: WaitingRow[]): { title: string; text: string } {
  const one = rows.length === 1 ? rows[0]?.cluster : undefined;
  switch (action) {
    case 'approve': return { title: one ? words.approveNamed(one) : words.approveMany(rows.length), text: words.approveText };
    case 'accept': return { title: one ? words.acceptNamed(one) : words.acceptMany(rows.length), text: words.acceptText };
    case 'deny': return { title: one ? words.denyNamed(one) : words.denyMany(rows.length), text: words.denyText };
    case 'approve-and-accept': return { title: one ? words.bothNamed(one) : words.bothMany(rows.length), text: words.bothText };
  }
}

/** Asks once, showing what is being consented to. Of several clusters it tells what became of each that failed. */
export default function DecideDialog({ decision, onClose }: { decision: Decision; onClose: () => void }) {
  const words = useWords(consentWords);
  const explain = useExplain();
  const [reason, setReason] = useState('');
  const run = useMutation(decide);
  const { action, rows } = decision;
  const { title, text } = wording(words, action, rows);
  const failed = run.data?.filter((outcome) => !outcome.ok) ?? [];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    run.mutate({ ...decision, reason: reason.trim() }, { onSuccess: (outcomes) => { if (outcomes.every((outcome) => outcome.ok)) onClose(); } });
  };
  if (failed.length > 0) return <Dialog onClose={onClose} title={words.outcomeTitle((run.data?.length ?? 0) - failed.length, run.data?.length ?? 0)}><Outcomes failed={failed} onClose={onClose} /></Dialog>;
  const [row] = rows;
  const request = row && (row.requests.find((one) => one.name === decision.request) ?? leading(row));
  return (
    <Dialog onClose={onClose} title={title} wide={action.startsWith('approve')}>
      <form className={styles['form']} onSubmit={submit}>
        <p>{rows.length > 1 && action.startsWith('approve') ? words.manyText : text}</p>
        {rows.length === 1 && request?.fingerprint && action.startsWith('approve') && <Fingerprint value={request.fingerprint} />}
        {rows.length === 1 && row?.joined && action === 'approve' && !request?.renewal && <Notice tone="warn" title={words.alreadyJoined} />}
        {rows.length > 1 && <ul className={styles['names']}>{rows.map((one) => <li key={one.cluster}>{one.cluster}{action.startsWith('approve') && <code className="dim">{leading(one)?.fingerprint.slice(0, 23)}…</code>}</li>)}</ul>}
        {action === 'deny' && rows.length === 1 && <TextInput label={words.reason} description={words.reasonHint} maxLength={200} autoComplete="off" data-autofocus value={reason} onChange={(event) => setReason(event.currentTarget.value)} />}
        {run.error && <Notice explained={explain.error(run.error)} />}
        <DialogButtons>
          <Button variant="default" onClick={onClose}>{words.keep}</Button>
          <Button type="submit" color={action === 'deny' ? 'red' : undefined} loading={run.isPending} data-autofocus={action !== 'deny' || undefined}>{title}</Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

function Outcomes({ failed, onClose }: { failed: BulkOutcome[]; onClose: () => void }) {
  const words = useWords(consentWords);
  const explain = useExplain();
  return (
    <div className={styles['form']}>
      <p>{words.outcomeText}</p>
      {failed.map(({ cluster, problem }) => {
        const { what, why, fix } = explain.error(new ApiError(problem?.status ?? 500, problem ?? {}));
        return <Notice key={cluster} tone="warn" title={<>{cluster}: {what}</>}>{why && <p className="wrap">{why}</p>}{fix && <p className="wrap dim">{fix}</p>}</Notice>;
      })}
      <DialogButtons><Button onClick={onClose} data-autofocus>{words.close}</Button></DialogButtons>
    </div>
  );
}
