import { useStaleSince } from '@/api/hub';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import { clock } from '@/shared/ui/time';
import { appWords } from '../words';
import styles from './StaleBanner.module.css';

/** Says since when the page is old, while it is. */
export function StaleBanner() {
  const words = useWords(appWords);
  const { language } = useLanguage();
  const since = useStaleSince();
  if (since === undefined) return null;
  return (
    <div className={styles['banner']}>
      <Notice tone="warn" title={words.staleTitle(clock(language, since))}>{words.staleText}</Notice>
    </div>
  );
}
