/** Where in a half-written document the cursor stands: the parser is forgiving, so a marker is put there and looked for. */
import { isScalar, type Node, type Pair, parseDocument, visit } from 'yaml';
import { lineEnd, lineStart, dialect, keyText } from './parse';
import type { Path } from './path';

export interface Place {
  /** Of the map that gets a key, or of the value. */
  path: Path;
  at: 'key' | 'value';
  /** The part of the word in front of the cursor begins here. */
  from: number;
  /** The keys that the map has, for "key". */
  present: string[];
}

const marker = 'zzcursorzz';

export function placeAt(text: string, offset: number): Place | undefined {
  const start = lineStart(text, offset);
  const before = text.slice(start, offset);
  if (/(^|\s)#/.test(before)) return undefined;
  const valued = /^[\s-]*[\w./"'-]+:\s+(\S*)$/.exec(before);
  const bare = /^([\s-]*?(?:- +)*)([\w./-]*)$/.exec(before);
  const rest = text.slice(offset, lineEnd(text, offset));
  const after = text.slice(lineEnd(text, offset));
  if (valued) {
    const from = offset - (valued[1]?.length ?? 0);
    return found(text.slice(0, from) + marker + after, 'value', from);
  }
  if (!bare) return flowPlace(text, offset);
  const from = offset - (bare[2]?.length ?? 0);
  const behind = /^[\w./-]*:/.test(rest) ? rest.replace(/^[\w./-]*:/, '') : '';
  const asKey = found(`${text.slice(0, from)}${marker}:${behind}${after}`, 'key', from);
  if (asKey || rest.trim() !== '') return asKey;
  return found(`${text.slice(0, from)}${marker}${after}`, 'value', from);
}

/** The place of the item of a list, where a key could stand as well. */
export function itemPlace(text: string, offset: number): Place | undefined {
  const before = text.slice(lineStart(text, offset), offset);
  const match = /^\s*(?:- +)+([\w./-]*)$/.exec(before);
  if (!match) return undefined;
  const from = offset - (match[1]?.length ?? 0);
  return found(text.slice(0, from) + marker + text.slice(lineEnd(text, offset)), 'value', from);
}

/** Inside of brackets: an item or a value there. */
function flowPlace(text: string, offset: number): Place | undefined {
  const before = text.slice(lineStart(text, offset), offset);
  const match = /[[{,:]\s*([\w./-]*)$/.exec(before);
  if (!match) return undefined;
  const from = offset - (match[1]?.length ?? 0);
  return found(text.slice(0, from) + marker + text.slice(offset), 'value', from);
}

function found(text: string, at: Place['at'], from: number): Place | undefined {
  const doc = parseDocument(text, { ...dialect, prettyErrors: false });
  let place: Place | undefined;
  visit(doc, {
    Scalar: (key, node, ancestors) => {
      if (!isScalar(node) || !String(node.value).includes(marker)) return undefined;
      if ((key === 'key') !== (at === 'key')) return visit.BREAK;
      const path = pathOf([...ancestors, node] as Node[]);
      const map = at === 'key' ? (ancestors.at(-2) as { items: Pair<Node, Node | null>[] } | undefined) : undefined;
      place = { path: at === 'key' ? path.slice(0, -1) : path, at, from, present: (map?.items ?? []).map(keyText).filter((name) => !name.includes(marker)) };
      return visit.BREAK;
    },
  });
  return place;
}

/** The path along a chain of ancestors: documents and pairs in it name keys, lists indexes. */
function pathOf(chain: (Node | Pair<Node, Node | null>)[]): Path {
  return chain.flatMap((node, index): (string | number)[] => {
    const next = chain[index + 1];
    if ('key' in node) return [keyText(node)];
    const items = 'items' in node && Array.isArray(node.items) ? (node.items as unknown[]) : [];
    const at = items.indexOf(next);
    return at >= 0 && next && !('key' in next) ? [at] : [];
  });
}
