import type { ManagedRemovalPlan } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import { type Explained, Notice } from '@/shared/ui/Notice';
import { managedWords } from './words';
import type { ManagedWords } from './words.en';

type Blocker = ManagedRemovalPlan['blockers'][number];

/** What holds a removal, in the user's language; a code that this page does not know is told in the hub's words. */
export function explainBlocker(words: ManagedWords, cluster: string, blocker: Blocker): Explained {
  const { blockerWhat, blockerWhy, blockerFix } = words.removal;
  const { code } = blocker;
  if (!(code in blockerWhat)) return blocker;
  const names = blocker.names.join(', ');
  return {
    what: code === 'agent' ? blockerWhat.agent : blockerWhat[code](names),
    why: code === 'agent' ? blockerWhy.agent(names) : blockerWhy[code],
    fix: blockerFix[code](cluster),
  };
}

/** What a removal waits for, or will. */
export function Blockers({ cluster, blockers }: { cluster: string; blockers: Blocker[] }) {
  const words = useWords(managedWords);
  return blockers.map((blocker) => <Notice key={blocker.what} tone="warn" explained={explainBlocker(words, cluster, blocker)} />);
}
