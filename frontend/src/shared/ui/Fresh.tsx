import { useWords } from '@/shared/hooks/useWords';
import styles from './Fresh.module.css';
import { uiWords } from './words';

/** "3 new": rows that arrived and wait to be shown, so that nothing moves under the reader's eyes. */
export function Fresh({ count, onShow }: { count: number; onShow: () => void }) {
  const words = useWords(uiWords);
  return (
    <div className={styles['place']} aria-live="polite">
      {count > 0 && <button type="button" className={styles['pill']} title={words.freshHint} onClick={onShow}>{words.fresh(count)}</button>}
    </div>
  );
}
