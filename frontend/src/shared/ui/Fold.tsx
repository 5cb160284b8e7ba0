import { type ReactNode, useState } from 'react';
import styles from './Fold.module.css';

/** What is out of sight until somebody asks for it, or until something in it must be seen (`urgent`). It never closes by itself. */
export function Fold({ summary, urgent = false, children }: { summary: ReactNode; urgent?: boolean; children: ReactNode }) {
  const [open, setOpen] = useState(urgent);
  if (urgent && !open) setOpen(true);
  return (
    <details className={styles['fold']} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {children}
    </details>
  );
}
