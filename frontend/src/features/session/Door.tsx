import type { ReactNode } from 'react';
import { Logo } from '@/shared/ui/Logo';
import styles from './Door.module.css';

/** The frame of what comes before the dashboard; `tools` are what even strangers may set: language and theme. */
export function Door({ title, tools, children, foot }: { title: string; tools: ReactNode; children: ReactNode; foot?: ReactNode }) {
  return (
    <main className={styles['door']}>
      <title>{`${title} · Muster`}</title>
      <div className={styles['card']}>
        <div className={styles['top']}><Logo /><span className={styles['tools']}>{tools}</span></div>
        <h1>{title}</h1>
        {children}
        {foot && <p className="dim small">{foot}</p>}
      </div>
    </main>
  );
}
