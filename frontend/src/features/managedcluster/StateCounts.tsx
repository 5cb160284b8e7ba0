import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { StateMark } from '@/shared/ui/StateMark';
import { count } from '@/shared/ui/time';
import styles from './managedcluster.module.css';
import { type ManagedState, states, tones } from './state';
import { managedWords } from './words';

interface StateCountsProps {
  counts: Record<string, number> | undefined;
  chosen: string | undefined;
  onChoose: (state: ManagedState | undefined) => void;
}

/** How many managed clusters are in which state; each count filters. */
export function StateCounts({ counts, chosen, onChoose }: StateCountsProps) {
  const words = useWords(managedWords);
  const { language } = useLanguage();
  return (
    <div className={styles['counts']} role="group" aria-label={words.state}>
      {states.filter((state) => state === 'ready' || state === chosen || (counts?.[state] ?? 0) > 0).map((state) => (
        <button key={state} type="button" className={styles['count']} aria-pressed={state === chosen} onClick={() => onChoose(state === chosen ? undefined : state)}>
          <StateMark tone={tones[state]} plain>{words.countFilter(counts ? count(language, counts[state] ?? 0) : '–', words.states[state])}</StateMark>
        </button>
      ))}
    </div>
  );
}
