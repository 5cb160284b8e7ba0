import type { ReactNode } from 'react';
import styles from './Empty.module.css';

/** An empty list says what it is for and offers the one action that fills it. */
export function Empty({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className={styles['empty']}>
      <h2>{title}</h2>
      <p className="dim">{children}</p>
      {action}
    </div>
  );
}
