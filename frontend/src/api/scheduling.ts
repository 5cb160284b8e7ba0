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

/** The scheduler's sum of what keeps clusters out, such as "0/3 clusters are available: 3 not meant by the cluster affinity." */
function sumOf(words: SchedulingWords, message: string): string {
  const found = words === en ? null : /^(\d+)\/(\d+) clusters are available: (.+?)\.?$/s.exec(message);
  if (!found) return message;
  const reasons = (found[3] ?? '').split(/, (?=\d+ )/).map((part) => {
    const [, n, reason = ''] = /^(\d+) (.+)$/s.exec(part) ?? [];
    return n ? words.some(n, reasonOf(words, reason)) : part;
  });
  return words.available(found[1] ?? '', found[2] ?? '', reasons.join(words.comma));
}

/** A sentence of the hub whose parameters are words of the scheduler, with these in the reader's language. */
export function leftOut<T extends { params?: Record<string, string> }>(words: SchedulingWords, said: T): T {
  const { filter, reason, message } = said.params ?? {};
  if (filter && reason) return { ...said, params: { ...said.params, filter: words.filters[filter] ?? filter, reason: reasonOf(words, reason) } };
  return message ? { ...said, params: { ...said.params, message: sumOf(words, message) } } : said;
}
