import { useWords } from '@/shared/hooks/useWords';
import styles from './Bar.module.css';
import { uiWords } from './words';

interface BarProps {
  label: string;
  used: number;
  total: number;
  wide?: boolean;
  /** A full bar is nothing to worry about. */
  plain?: boolean;
}

/** A share as a bar and a number. `label` names it for those who do not see the bar. */
export function Bar({ label, used, total, wide = false, plain = false }: BarProps) {
  const words = useWords(uiWords);
  const percent = total > 0 ? Math.round((used / total) * 100) : 0;
  return (
    <span className={styles['bar']} data-wide={wide || undefined} data-tone={plain ? undefined : percent >= 95 ? 'bad' : percent >= 85 ? 'warn' : undefined}>
      <span className={styles['meter']} role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.min(100, percent)}>
        <span style={{ width: `${Math.min(100, percent)}%` }} />
      </span>
      <span className={styles['figure']}>{words.percentUsed(percent)}</span>
    </span>
  );
}
