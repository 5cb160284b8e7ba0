import type { ReactNode } from 'react';
import styles from './StateMark.module.css';

export type Tone = 'ok' | 'busy' | 'warn' | 'unknown' | 'bad' | 'leaving' | 'idle';

const shapes: Record<Tone, ReactNode> = {
  ok: <circle cx="6" cy="6" r="4.5" fill="currentColor" />,
  busy: <><circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="1.5" /><path d="M6 2a4 4 0 0 0 0 8z" fill="currentColor" /></>,
  warn: <path d="M6 1.2 11.2 10.5H.8z" fill="currentColor" />,
  unknown: <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="1.5" strokeDasharray="2.2 1.4" />,
  bad: <rect x="1.8" y="1.8" width="8.4" height="8.4" rx="1" fill="currentColor" />,
  leaving: <><circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="1.5" /><path d="M3.5 6h5" stroke="currentColor" strokeWidth="1.5" /></>,
  idle: <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="1.5" />,
};

/** A shape and a colour, never without the word beside it. */
export function StateMark({ tone, children, plain = false, breaks = false }: { tone: Tone; children?: ReactNode; plain?: boolean; /** Whether the word is a name, which may be long. */ breaks?: boolean }) {
  return (
    <span className={styles['mark']} data-tone={tone} data-plain={plain || undefined} data-breaks={breaks || undefined}>
      <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">{shapes[tone]}</svg>
      {children !== undefined && <span>{children}</span>}
    </span>
  );
}
