import { useWords } from '@/shared/hooks/useWords';
import { workloadWords } from './words';

/** How many replicas are ready of those wanted. */
export function Replicas({ of }: { of: { wanted: number; ready: number } }) {
  const words = useWords(workloadWords);
  return <span title={words.replicasHint(of.ready, of.wanted)}>{of.ready}/{of.wanted}</span>;
}
