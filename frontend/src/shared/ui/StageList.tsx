import IconCheck from '@tabler/icons-react/dist/esm/icons/IconCheck.mjs';
import type { ReactNode } from 'react';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import type { Explained } from './Notice';
import { StateMark } from './StateMark';
import styles from './StageList.module.css';
import { absolute, clock } from './time';
import { uiWords } from './words';

export interface StageItem {
  key: string;
  label: string;
  state: 'pending' | 'running' | 'done' | 'failed';
  /** The state in words, for those who do not see the mark. */
  spoken: string;
  at?: string;
  aside?: ReactNode;
  failure?: Explained;
  action?: ReactNode;
}

/** The steps of something under way, each with its time; a failed one says why and what to do. Changes are announced. */
export function StageList({ label, stages }: { label: string; stages: StageItem[] }) {
  const words = useWords(uiWords);
  const { language } = useLanguage();
  const current = stages.findLast((stage) => stage.state !== 'pending');
  return (
    <>
      <ol className={styles['stages']} aria-label={label}>
        {stages.map((stage) => (
          <li key={stage.key} data-state={stage.state} data-stage={stage.key}>
            <span className={styles['mark']}><Mark state={stage.state} /></span>
            <span className={styles['label']}>{stage.label}<span className="hidden"> {stage.spoken}</span></span>
            <span className={styles['time']}>{stage.at && <time dateTime={stage.at} title={absolute(language, stage.at)}>{clock(language, stage.at)}</time>}</span>
            <span className={styles['aside']}>{stage.aside}</span>
            {stage.failure && (
              <div className={styles['failure']}>
                <p><code>{stage.failure.code}</code> <strong>{stage.failure.what}</strong></p>
                {stage.failure.why && <p className="wrap">{stage.failure.why}</p>}
                {stage.failure.fix && <p className="wrap"><span className="dim">{words.fix}</span>{stage.failure.fix}</p>}
                {stage.action}
              </div>
            )}
          </li>
        ))}
      </ol>
      <p className="hidden" role="status" aria-live="polite">{current && `${current.label}: ${current.spoken}${current.failure ? `. ${current.failure.what}` : ''}`}</p>
    </>
  );
}

function Mark({ state }: { state: StageItem['state'] }) {
  switch (state) {
    case 'done': return <IconCheck size={16} stroke={2.5} className={styles['done']} aria-hidden="true" />;
    case 'running': return <StateMark tone="busy" />;
    case 'failed': return <StateMark tone="bad" />;
    case 'pending': return <StateMark tone="idle" />;
  }
}
