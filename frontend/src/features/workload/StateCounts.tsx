import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { StateMark } from '@/shared/ui/StateMark';
import { count } from '@/shared/ui/time';
import { states, tones } from './state';
import styles from './StateCounts.module.css';
import type { WorkloadCounts } from './types';
import { workloadWords } from './words';

interface StateCountsProps {
  counts: WorkloadCounts | undefined;
  chosen: string | undefined;
  onChoose: (state: string | undefined) => void;
}

/** How many workloads are in which state; each count filters. */
export function StateCounts({ counts, chosen, onChoose }: StateCountsProps) {
  const words = useWords(workloadWords);
  const { language } = useLanguage();
  const shown = [...states, 'unmanaged' as const].filter((state) => state === 'ok' || state === chosen || (counts?.[state] ?? 0) > 0);
  return (
    <div className={styles['counts']} role="group" aria-label={words.state}>
      {shown.map((state) => (
        <button key={state} type="button" className={styles['count']} aria-pressed={state === chosen} onClick={() => onChoose(state === chosen ? undefined : state)}>
          <StateMark tone={tones[state]} plain>{words.countFilter(counts ? count(language, counts[state] ?? 0) : '–', words.states[state])}</StateMark>
        </button>
      ))}
    </div>
  );
}
