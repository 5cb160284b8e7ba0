import type { ReactNode } from 'react';
import styles from './Facts.module.css';

/** Names and values, one a line. */
export function Facts({ facts }: { facts: [label: string, value: ReactNode][] }) {
  return (
    <dl className={styles['facts']}>
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd className="wrap">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
