import IconAlertTriangle from '@tabler/icons-react/dist/esm/icons/IconAlertTriangle.mjs';
import IconInfoCircle from '@tabler/icons-react/dist/esm/icons/IconInfoCircle.mjs';
import type { ReactNode } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import styles from './Notice.module.css';
import { uiWords } from './words';

/** What happened, why, and what to do about it. */
export interface Explained {
  what: string;
  why?: string;
  fix?: string;
  code?: string;
  requestId?: string;
}

interface NoticeProps {
  tone?: 'bad' | 'warn' | 'info';
  explained?: Explained;
  title?: ReactNode;
  children?: ReactNode;
  action?: ReactNode;
}

/** One message in the page's flow. Errors announce themselves. */
export function Notice({ tone = 'bad', explained, title, children, action }: NoticeProps) {
  const words = useWords(uiWords);
  const Icon = tone === 'info' ? IconInfoCircle : IconAlertTriangle;
  return (
    <div className={styles['notice']} data-tone={tone} role={tone === 'bad' ? 'alert' : 'status'}>
      <Icon size={20} aria-hidden="true" />
      <div className={styles['body']}>
        <p className={styles['what']}>
          {explained?.what ?? title}
          {explained?.code && <> <code className={styles['code']}>{explained.code}</code></>}
        </p>
        {explained?.why && <p className="wrap">{explained.why}</p>}
        {explained?.fix && <p className="wrap"><span className="dim">{words.fix}</span>{explained.fix}</p>}
        {children}
        {explained?.requestId && <p className="dim small">{words.request} <code>{explained.requestId}</code></p>}
      </div>
      {action && <div className={styles['action']}>{action}</div>}
    </div>
  );
}
