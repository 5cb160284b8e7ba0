import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import { type Blocker, explainBlocker, holds, yields } from './blockers';
import { clusterWords } from './words';

/** What a removal waits for, or will (`ahead`), and for who may not end the waiting what to do instead. */
export function Blockers({ cluster, blockers, ahead = false }: { cluster: string; blockers: Blocker[]; ahead?: boolean }) {
  const words = useWords(clusterWords);
  const admin = useMay('admin');
  const held = blockers.filter(holds);
  return (
    <>
      {blockers.filter((blocker) => !holds(blocker)).map((blocker) => <Notice key={blocker.what} tone="warn" explained={explainBlocker(words, cluster, blocker)} />)}
      {ahead && held.length > 0 && <h3>{words.removal.waits}</h3>}
      {held.map((blocker) => <Notice key={blocker.what} tone="warn" explained={explainBlocker(words, cluster, blocker)} />)}
      {!admin && blockers.some(yields) && <Notice tone="info" title={ahead ? words.removal.noForce : words.removal.goesOn}>{words.removal.noForceHint}</Notice>}
    </>
  );
}
