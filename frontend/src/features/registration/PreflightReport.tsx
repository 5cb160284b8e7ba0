import '@mantine/core/styles/Combobox.layer.css';
import { NativeSelect } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { useExplain } from '@/api/errors';
import type { Preflight, PreflightCheck } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import { Facts } from '@/shared/ui/Facts';
import { Notice } from '@/shared/ui/Notice';
import { Section } from '@/shared/ui/Section';
import { StateMark, type Tone } from '@/shared/ui/StateMark';
import styles from './PreflightReport.module.css';
import { registrationWords } from './words';

const tones: Record<PreflightCheck['state'], Tone> = { ok: 'ok', warn: 'warn', failed: 'bad', skipped: 'idle' };

/** What the hub found when it tried the kubeconfig, and what joining would create. */
export function PreflightReport({ report, busy, onContext }: { report: Preflight; busy: boolean; onContext: (context: string) => void }) {
  const words = useWords(registrationWords);
  // The button that asked for this is gone: the keyboard and the screen reader go on at the answer.
  const top = useRef<HTMLUListElement>(null);
  useEffect(() => top.current?.focus({ preventScroll: true }), []);
  return (
    <>
      {report.contexts.length > 1 && (
        <NativeSelect
          label={words.context} value={report.context} disabled={busy} onChange={(event) => onContext(event.target.value)}
          data={report.contexts.map((context) => ({ value: context.name, label: words.contextOption(context.name, context.problem ?? context.server) }))}
        />
      )}
      {report.keeps && <Kept keeps={report.keeps} context={report.context} />}
      <Section title={words.checks}>
        <ul ref={top} tabIndex={-1} className={styles['checks']} aria-label={words.checks} aria-live="polite" aria-busy={busy}>
          {report.checks.map((check) => <CheckLine key={check.id} check={check} />)}
        </ul>
        {!report.ok && <Notice tone="warn" title={words.notOk} />}
      </Section>
      {report.ok && report.plan.length > 0 && (
        <Section title={words.plan}>
          <ul className={styles['plan']}>
            {report.plan.map((step) => (
              <li key={`${step.where} ${step.kind} ${step.namespace ?? ''} ${step.name}`}>
                <span className="dim">{words.planWhere[step.where] ?? step.where}</span>
                <span>{words.planVerbs[step.verb]} {step.kind}</span>
                <code className="wrap">{step.namespace ? `${step.namespace}/` : ''}{step.name}</code>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

/** The redacted view: what of the kubeconfig outlives the join. */
function Kept({ keeps, context }: { keeps: NonNullable<Preflight['keeps']>; context: string }) {
  const words = useWords(registrationWords);
  return (
    <Section title={words.keeps}>
      <Facts facts={[
        [words.context, <code key="context">{context}</code>],
        [words.keepsText.server, <code key="server">{keeps.server}</code>],
        [words.keepsText.caPin, keeps.insecure ? <StateMark key="pin" tone="warn">{words.insecure}</StateMark> : <code key="pin">{keeps.caPin || '–'}</code>],
        ...(keeps.proxyURL ? [[words.keepsText.proxy, <code key="proxy">{keeps.proxyURL}</code>] as [string, ReactNode]] : []),
        [words.keepsText.credential, words.credentials[keeps.credential] ?? keeps.credential],
      ]} />
    </Section>
  );
}

function CheckLine({ check }: { check: PreflightCheck }) {
  const words = useWords(registrationWords);
  const explain = useExplain();
  const failure = check.code && check.state !== 'ok' ? explain.failure({ code: check.code, cause: check.detail, fix: check.fix }) : undefined;
  return (
    <li className={styles['check']} data-check={check.id} data-state={check.state}>
      <StateMark tone={tones[check.state]} plain>{words.checkNames[check.id] ?? check.id}<span className="hidden"> {words.checkStates[check.state]}</span></StateMark>
      <span className="dim wrap">{failure ? <><code className={styles['code']}>{failure.code}</code> {failure.what}</> : check.state === 'skipped' ? words.checkStates.skipped : words.checkDetail(check.id, check.detail)}</span>
      <span className={styles['millis']}>{check.state !== 'skipped' && words.millis(check.millis)}</span>
      {failure && <div className={styles['why']}>{failure.why && <p className="wrap">{failure.why}</p>}{failure.fix && <p className="wrap">{failure.fix}</p>}</div>}
    </li>
  );
}
