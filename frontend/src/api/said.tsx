/** What the hub says in English (a problem's detail, a condition, an event), in the reader's language where it is known. */
import { useCallback } from 'react';
import { dictionary, useWords } from '@/shared/hooks/useWords';
import { reworder } from '@/shared/reword';

/** English needs none. */
export const saidWords = dictionary<Record<string, string>>({}, () => import('@/api/said.chinese'));

/** The sentence in the reader's language; undefined when it is not known. */
export type Say = (text: string | undefined) => string | undefined;

const sayers = new WeakMap<Record<string, string>, Say>();

export function sayer(words: Record<string, string>): Say {
  const held = sayers.get(words);
  if (held) return held;
  const whole = reworder(words, 3);
  // A message of several lines is several sentences; a value of one sentence may have lines, too.
  const known: Say = (text) => {
    const lines = text?.split('\n') ?? [];
    const said = lines.length > 1 ? lines.map(whole) : [];
    return said.some((line) => line !== undefined) && said.every((line, i) => line !== undefined || lines[i] === '') ? said.map((line) => line ?? '').join('\n') : whole(text);
  };
  sayers.set(words, known);
  return known;
}

/** Says the hub's sentence in the reader's language, or as it came. */
export function useSay(): (text: string) => string {
  const say = sayer(useWords(saidWords));
  return useCallback((text) => say(text) ?? text, [say]);
}

/** One sentence of the hub. */
export function Said({ text }: { text: string | undefined }) {
  return useSay()(text ?? '');
}
