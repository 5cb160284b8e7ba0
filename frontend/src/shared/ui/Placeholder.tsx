import { useWords } from '@/shared/hooks/useWords';
import styles from './Placeholder.module.css';
import { uiWords } from './words';

/** Room for rows that are on their way, of the rows' height. */
export function Placeholder({ rows = 5 }: { rows?: number }) {
  const words = useWords(uiWords);
  return (
    <div className={styles['rows']} role="status" aria-label={words.loading}>
      {Array.from({ length: rows }, (_, index) => <span key={index} />)}
    </div>
  );
}
