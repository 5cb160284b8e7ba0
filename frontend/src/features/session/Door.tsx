import type { ReactNode } from 'react';
import { Logo } from '@/shared/ui/Logo';
import styles from './Door.module.css';

/** The frame of what comes before the dashboard. */
export function Door({ title, children, foot }: { title: string; children: ReactNode; foot?: ReactNode }) {
  return (
    <main className={styles['door']}>
      <title>{`${title} · Muster`}</title>
      <div className={styles['card']}>
        <Logo />
        <h1>{title}</h1>
        {children}
        {foot && <p className="dim small">{foot}</p>}
      </div>
    </main>
  );
}
