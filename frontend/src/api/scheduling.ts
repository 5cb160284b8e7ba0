/** What the scheduler says of clusters that it leaves out, in the reader's language. */
import { en, type SchedulingWords } from '@/api/scheduling.en';
import { dictionary } from '@/shared/hooks/useWords';

export const schedulingWords = dictionary(en, () => import('@/api/scheduling.zh'));

/** The reasons that name something. */
const about: [keyof SchedulingWords['about'], RegExp][] = [
  ['missing', /^the API (.+) is missing$/], ['taint', /^untolerated taint (.+)$/],
  ['elsewhere', /^the group (\S+) is elsewhere/], ['already', /^the group (\S+) is on it already/],
];

/** A reason in words; what it names stays as it is. */
export function reasonOf(words: SchedulingWords, reason: string): string {
  if (words === en) return reason;
  for (const [key, match] of about) {
    const found = match.exec(reason);
    if (found) return words.about[key](found[1] ?? '');
  }
  return words.reasons[reason] ?? reason;
}

/** A sentence of the hub whose parameters are words of the scheduler, with these in the reader's language. */
export function leftOut<T extends { params?: Record<string, string> }>(words: SchedulingWords, said: T): T {
  const { filter, reason } = said.params ?? {};
  if (!filter || !reason) return said;
  return { ...said, params: { ...said.params, filter: words.filters[filter] ?? filter, reason: reasonOf(words, reason) } };
}
