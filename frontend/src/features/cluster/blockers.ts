import type { RemovalPlan } from '@/api/model';
import type { Explained } from '@/shared/ui/Notice';
import type { ClusterWords } from './words.en';

export type Blocker = RemovalPlan['blockers'][number];

/** A member that is gone is not waited for; all else is. */
export const holds = (blocker: Blocker) => blocker.code !== 'member';

/** Force ends every waiting but the one for finalizers of others. */
export const yields = (blocker: Blocker) => holds(blocker) && blocker.code !== 'finalizer';

/** What holds a removal, in the user's language; a code that this page does not know is told in the hub's words. */
export function explainBlocker(words: ClusterWords, cluster: string, blocker: Blocker): Explained {
  const { blockerWhat, blockerWhy, blockerFix, said } = words.removal;
  const { code, detail } = blocker;
  if (!(code in blockerWhat)) return blocker;
  const names = blocker.names.join(', ');
  const fix = blockerFix[code];
  return {
    what: blockerWhat[code](names),
    why: detail ? `${blockerWhy[code]} ${said(detail)}` : blockerWhy[code],
    fix: typeof fix === 'string' ? fix : fix(code === 'finalizer' ? cluster : names),
  };
}
