/** The hub's sentences in the reader's language: by the code that they carry, or by their English text where they carry none. */
import { en } from './words.en';
import type { WorkloadWords } from './words.en';

type Params = Record<string, string | number>;

/** Fills in what stands in braces; undefined when something is lacking. */
export function fill(sentence: string | undefined, params: Params = {}): string | undefined {
  let whole = true;
  const text = sentence?.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) whole = false;
    return String(value);
  });
  return whole ? text : undefined;
}

/** The words of a sentence with a code; what the hub wrote when the code is not known here or came without its params. */
export function sentence(words: WorkloadWords, said: { text: string; code?: string; params?: Params }): string {
  if (words === en) return said.text;
  return (said.code ? fill(words.facts[said.code], said.params) : undefined) ?? said.text;
}

interface Pattern {
  code: string;
  match: RegExp;
  names: string[];
}

let patterns: Pattern[] | undefined;

/** The English sentences as patterns, those with the most words of their own first. */
function known(): Pattern[] {
  const own = (text: string) => text.replace(/\{\w+\}/g, '').length;
  return patterns ??= Object.entries(en.facts).toSorted(([, a], [, b]) => own(b) - own(a)).map(([code, text]) => ({
    code,
    names: [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ''),
    match: new RegExp(`^${text.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('(.+?)')}$`, 's'),
  }));
}

/** The words of a sentence that came as text only. */
export function reworded(words: WorkloadWords, text: string): string {
  if (words === en) return text;
  for (const { code, match, names } of known()) {
    const found = match.exec(text);
    if (found) return fill(words.facts[code], Object.fromEntries(names.map((name, i) => [name, found[i + 1] ?? '']))) ?? text;
  }
  return text;
}

/** A sentence about a cluster where the cluster is named already. */
export function aboutCluster(words: WorkloadWords, text: string, cluster: string | undefined): string {
  const said = reworded(words, text);
  return cluster && (said.startsWith(`${cluster}: `) || said.startsWith(`${cluster}：`)) ? said.slice(cluster.length + 1).trimStart() : said;
}

/** A sentence cut where it names what it leads to: before, the name, after. Without the name in it the name is empty. */
export function cutAt(text: string, names: readonly (string | undefined)[]): [before: string, name: string, after: string] {
  for (const name of names) {
    const at = name ? text.indexOf(name) : -1;
    if (name && at >= 0) return [text.slice(0, at), name, text.slice(at + name.length)];
  }
  return [text, '', ''];
}
