import type { ClusterState, Counts } from '@/api/model';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { StateMark } from '@/shared/ui/StateMark';
import { count } from '@/shared/ui/time';
import styles from './CountBar.module.css';
import { states, tones } from './state';
import { clusterWords } from './words';

interface CountBarProps {
  counts: Counts | undefined;
  chosen: string | undefined;
  onChoose: (state: ClusterState | undefined) => void;
}

/** How many clusters are in which state; each count filters. */
export function CountBar({ counts, chosen, onChoose }: CountBarProps) {
  const words = useWords(clusterWords);
  const { language } = useLanguage();
  return (
    <div className={styles['counts']} role="group" aria-label={words.state}>
      {states.filter((state) => state === 'ready' || state === chosen || (counts?.[state] ?? 0) > 0).map((state) => (
        <button key={state} type="button" className={styles['count']} aria-pressed={state === chosen} onClick={() => onChoose(state === chosen ? undefined : state)}>
          <StateMark tone={tones[state]} plain>{words.countFilter(counts ? count(language, counts[state]) : '–', words.states[state])}</StateMark>
        </button>
      ))}
    </div>
  );
}
