import { Button } from '@mantine/core';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import styles from './More.module.css';
import { count } from './time';
import { uiWords } from './words';

interface MoreProps {
  shown: number;
  total: number;
  hasMore: boolean;
  loading: boolean;
  onMore: () => void;
}

/** The foot of a paged list: how much of it is shown, and the button for more. */
export function More({ shown, total, hasMore, loading, onMore }: MoreProps) {
  const words = useWords(uiWords);
  const { language } = useLanguage();
  return (
    <div className={styles['more']}>
      {hasMore
        ? <Button variant="default" loading={loading} onClick={onMore}>{words.more(count(language, shown), count(language, total))}</Button>
        : <span className="dim small">{words.all(count(language, total))}</span>}
    </div>
  );
}
