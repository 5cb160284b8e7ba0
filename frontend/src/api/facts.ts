/** The hub's sentences about an object on its way, in the reader's language: by the code that they carry, or by their English text. */
import { en, type FactWords } from '@/api/facts.en';
import { dictionary } from '@/shared/hooks/useWords';
import { fill, reworder } from '@/shared/reword';

export const factWords = dictionary(en, () => import('@/api/facts.zh'));

/** A sentence of the hub; text is its English. */
export interface SaidFact {
  text: string;
  code?: string;
  params?: Record<string, string | number>;
}

/** The words of a sentence with a code; what the hub wrote when the code is not known here or came without its params. */
export function sentence(words: FactWords, said: SaidFact): string {
  if (words === en) return said.text;
  return (said.code ? fill(words.facts[said.code], said.params) : undefined) ?? said.text;
}

const reworders = new WeakMap<FactWords, (text: string | undefined) => string | undefined>();

/** The words of a sentence that came as text only. */
export function reworded(words: FactWords, text: string): string {
  if (words === en) return text;
  const known = reworders.get(words) ?? reworder(Object.fromEntries(Object.entries(en.facts).map(([code, english]) => [english, words.facts[code] ?? english])));
  reworders.set(words, known);
  return known(text) ?? text;
}

/** A sentence about a cluster where the cluster is named already. */
export function aboutCluster(words: FactWords, text: string, cluster: string | undefined): string {
  const said = reworded(words, text);
  if (!cluster || !(said.startsWith(`${cluster}: `) || said.startsWith(`${cluster}：`))) return said;
  const rest = said.slice(cluster.length + 1).trimStart();
  // Sentences of the hub begin anew; what a member said is left as it is.
  return ownWords(text) ? rest.charAt(0).toUpperCase() + rest.slice(1) : rest;
}

function ownWords(text: string): boolean {
  const code = codeOf(text);
  return code !== undefined && !en.facts[code]?.startsWith('{cluster}: {message}');
}

/** What members say when they refuse an object, the most exact first. */
const refusals: [string, RegExp][] = [
  ['conflict', /conflict-resolution|exists there that the hub does not manage/],
  ['quota', /exceeded quota/],
  ['large', /request is too large|Request entity too large|Too long: may not be more than|trying to send message larger|takes? \d+ bytes, and \d+ are the limit/i],
  ['webhook', /failed calling webhook/],
  ['rights', / cannot (create|get|update|patch|delete|list|watch) resource /],
  ['denied', /denied (the )?request|violates PodSecurity| is forbidden: /],
  ['kind', /no matches for kind|does not serve|could not find the requested resource/],
  ['namespace', /namespaces? "[^"]+" not found/],
  ['invalid', / is invalid: |Invalid value|strict decoding error|unknown field|cannot be handled as/],
  ['away', /deadline exceeded|connection refused|timed out|timeout|i\/o|no route|EOF|not reach/],
];

/** What keeps an object, or a change of it, on the hub; the most exact first: what refuses a mark names itself webhook, too. */
const holds: [string, RegExp][] = [
  ['stuck-denied', /denied (the )?request|admission webhook| is forbidden: /],
  ['large', /request is too large|Request entity too large|Too long: may not be more than/i],
  ['stuck-needs', / waits for | has no PriorityClass /],
  ['stuck-override', /: override by /],
  ['stuck-script', /script|lua|customization/i],
  ['stuck-hook', /webhook/i],
];

const interpreters: [string, RegExp][] = [['hook', /webhook/i], ['script', /script|lua|customization/i]];

const find = (known: [string, RegExp][], text: string, otherwise: string) => known.find(([, match]) => match.test(text))?.[0] ?? otherwise;

/** What to do about a sentence that tells of something amiss; undefined for all others. */
export function remedyOf(words: FactWords, { text, code }: SaidFact): string | undefined {
  const key = remedyKey(code ?? codeOf(text), text);
  return key === undefined ? undefined : words.remedies[key];
}

function remedyKey(code: string | undefined, text: string): string | undefined {
  switch (code) {
    case 'work.conflict': return 'conflict';
    case 'work.failed': return find(refusals, text, 'other');
    case 'template.stuck': case 'needs.stuck': case 'work.not-made': case 'work.stuck': return find(holds, text, 'stuck-other');
    case 'health.degraded': return interpreters.every(([, match]) => match.test(text)) ? 'interpreter' : find(interpreters, text, 'interpreter');
    case 'schedule.failed': case 'schedule.stale': return 'schedule';
    case 'member.not-ready': return 'member';
    default: return undefined;
  }
}

const codes = reworder(Object.fromEntries(Object.entries(en.facts).map(([code, english]) => [english, code])));

function codeOf(text: string): string | undefined {
  return codes(text);
}
