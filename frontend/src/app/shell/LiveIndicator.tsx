import { live, useLiveStatus } from '@/api/hub';
import { useNow } from '@/shared/hooks/useNow';
import { useWords } from '@/shared/hooks/useWords';
import { StateMark, type Tone } from '@/shared/ui/StateMark';
import { compactAge } from '@/shared/ui/time';
import { uiWords } from '@/shared/ui/words';
import { appWords } from '../words';
import styles from './LiveIndicator.module.css';

/** Whether the page is live, and how old the hub's last word is. */
export function LiveIndicator() {
  const words = useWords(appWords);
  const units = useWords(uiWords);
  const status = useLiveStatus();
  const now = useNow();
  const heard = live.getHeardAt();
  const age = heard > 0 ? compactAge(units, now - heard) : '';
  const [tone, word]: [Tone, string] = status === 'live' ? ['ok', words.live] : status === 'connecting' ? ['busy', words.connecting] : ['bad', words.lost];
  return (
    <span className={styles['live']} title={age && words.heardAgo(age)} data-testid="live" data-status={status}>
      <StateMark tone={tone} plain><span role="status">{word}</span></StateMark>
      <span className={styles['age']} aria-hidden="true">{age}</span>
    </span>
  );
}
