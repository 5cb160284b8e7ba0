import type { ReactNode } from 'react';
import styles from './Empty.module.css';

/** An empty list says what it is for and offers the one action that fills it; `page` says that there is nothing else on the page. */
export function Empty({ title, children, action, page = false }: { title: string; children: ReactNode; action?: ReactNode; page?: boolean }) {
  return (
    <div className={styles['empty']}>
      {page && <title>{`${title} · Muster`}</title>}
      {page ? <h1>{title}</h1> : <h2>{title}</h2>}
      <p className="dim">{children}</p>
      {action}
    </div>
  );
}
