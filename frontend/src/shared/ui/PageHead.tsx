import type { ReactNode } from 'react';
import styles from './PageHead.module.css';

/** A title of more characters than this takes the room of several. */
const long = 63;

/** A page's title line: the title, what qualifies it, and the page's actions. */
export function PageHead({ title, below, actions }: { title: ReactNode; below?: ReactNode; actions?: ReactNode }) {
  return (
    <header className={styles['head']}>
      <h1 className="wrap" data-long={(typeof title === 'string' && title.length > long) || undefined}>{title}</h1>
      {below && <div className={styles['below']}>{below}</div>}
      {actions && <div className={styles['actions']}>{actions}</div>}
    </header>
  );
}
