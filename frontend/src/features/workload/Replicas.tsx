import { useWords } from '@/shared/hooks/useWords';
import { workloadWords } from './words';

/** How many replicas are ready of those wanted. */
export function Replicas({ of }: { of: { wanted: number; ready: number } | undefined }) {
  const words = useWords(workloadWords);
  if (!of) return <span className="dim">–</span>;
  return <span title={words.replicasHint(of.ready, of.wanted)}>{of.ready}/{of.wanted}</span>;
}
