/**
 * One YAML document as text and value, and the way between the two: which range of the text holds a path, and which path
 * an offset belongs to. It reads YAML as the API server does, so that `on` is a boolean here as it is there.
 */
import { type Document, isCollection, isMap, isNode, isPair, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument, type Tags, type YAMLMap, type YAMLSeq } from 'yaml';
import type { Path } from './path';

/** A fault of the syntax, by offsets. */
export interface Fault {
  from: number;
  to: number;
  message: string;
  /** What sort of fault it is, by the reader's name for it. */
  code?: string;
}

export interface Parsed {
  text: string;
  doc: Document.Parsed;
  /** Undefined when the text is not one YAML document. */
  value: unknown;
  faults: Fault[];
}

export interface Range {
  from: number;
  to: number;
}

/** Types that JSON lacks, and clock times read as numbers: the API server takes all of them as text. */
const foreign = ['binary', 'omap', 'pairs', 'set', 'timestamp'];

/** A number has a digit before its exponent, and one beside its point: a cluster may be called e2, and `.` is a word. */
const exponential = /^[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)[eE][-+]?[0-9]+$/;
const pointed = /^[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)$/;

function asTheServer(tag: Tags[number]): Tags[number] {
  if (typeof tag === 'string' || !tag.tag.endsWith(':float') || !('test' in tag) || tag.test?.test('.nan')) return tag;
  return { ...tag, test: tag.format === 'EXP' ? exponential : pointed } as typeof tag;
}

export const dialect = {
  schema: 'yaml-1.1' as const,
  merge: true,
  customTags: (tags: Tags): Tags => tags
    .filter((tag) => typeof tag === 'string' || !(foreign.some((name) => tag.tag.endsWith(`:${name}`)) || tag.format === 'TIME'))
    .map(asTheServer),
};

const linesOf = new WeakMap<Document.Parsed, LineCounter>();

export function parse(text: string): Parsed {
  const lineCounter = new LineCounter();
  const doc = parseDocument(text, { ...dialect, lineCounter, keepSourceTokens: true, prettyErrors: false });
  linesOf.set(doc, lineCounter);
  const faults = doc.errors.map(({ pos: [from, to], message, code }): Fault => ({ from, to: Math.max(to, from + 1), message, code }));
  let value: unknown;
  if (faults.length === 0) {
    try {
      value = doc.toJS({ maxAliasCount: 20 });
    } catch (error) {
      faults.push({ from: 0, to: 1, message: error instanceof Error ? error.message : String(error) });
    }
  }
  return { text, doc, value, faults };
}

/** The line of an offset, from 1. */
export function lineOf(parsed: Parsed, offset: number): number {
  return linesOf.get(parsed.doc)?.linePos(offset).line ?? 1;
}

/** A place in the tree: the node, and the pair or the list that holds it. */
export interface Spot {
  path: Path;
  node: Node | null;
  pair?: Pair<Node, Node | null>;
  parent?: YAMLMap<Node, Node | null> | YAMLSeq<Node>;
  index: number;
}

export function keyText(pair: Pair<unknown, unknown>): string {
  return isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
}

/** Finds the path, as far as it exists; `path` of the answer says how far that is. */
export function locate(doc: Document.Parsed, path: Path): Spot {
  let spot: Spot = { path: [], node: doc.contents as Node | null, index: 0 };
  for (const part of path) {
    const { node } = spot;
    if (isMap(node) && typeof part === 'string') {
      const map = node as YAMLMap<Node, Node | null>;
      const index = map.items.findIndex((pair) => keyText(pair) === part);
      const pair = map.items[index];
      if (!pair) return spot;
      spot = { path: [...spot.path, part], node: pair.value, pair, parent: map, index };
    } else if (isSeq(node) && typeof part === 'number') {
      const list = node as YAMLSeq<Node>;
      const item = list.items[part];
      if (!item || isPair(item)) return spot;
      spot = { path: [...spot.path, part], node: item, parent: list, index: part };
    } else {
      return spot;
    }
  }
  return spot;
}

/** Where the text of a node ends, without the blanks and comments behind it. */
export function endOf(text: string, node: Node | null): number {
  if (!node?.range || node.range[1] === node.range[0]) return 0;
  const [from, end] = node.range;
  if (isCollection(node) && !node.flow) {
    const last = node.items.at(-1);
    if (isPair(last)) return pairEnd(text, last as Pair<Node, Node | null>);
    if (isNode(last)) return Math.max(endOf(text, last), dashes(node as YAMLSeq<Node>).at(-1) ?? from);
  }
  let to = end;
  while (to > from && /\s/.test(text[to - 1] ?? '')) to--;
  return to;
}

export function pairEnd(text: string, pair: Pair<Node, Node | null>): number {
  const key = endOf(text, pair.key);
  const value = endOf(text, pair.value);
  const colon = text.indexOf(':', key);
  return Math.max(value, colon < 0 ? key : colon + 1);
}

/** The offsets of a block list's dashes. */
export function dashes(list: YAMLSeq<Node>): number[] {
  const token = list.srcToken;
  if (token?.type !== 'block-seq') return [];
  return token.items.flatMap((item) => item.start.filter((start) => start.type === 'seq-item-ind').map((start) => start.offset));
}

/** The text of a path: its key and value, or its list item. Where it does not exist, its nearest parent. */
export function rangeOf(parsed: Parsed, path: Path): Range & { exact: boolean } {
  const spot = locate(parsed.doc, path);
  const exact = spot.path.length === path.length;
  if (spot.path.length === 0 && !exact) return { from: 0, to: 0, exact };
  if (spot.pair?.key.range) return { from: spot.pair.key.range[0], to: pairEnd(parsed.text, spot.pair), exact };
  const dash = isSeq(spot.parent) ? dashes(spot.parent as YAMLSeq<Node>)[spot.index] : undefined;
  return { from: dash ?? spot.node?.range?.[0] ?? 0, to: Math.max((dash ?? -1) + 1, endOf(parsed.text, spot.node)), exact };
}

/** The range of the value alone, for squiggles; the key's when there is no value. */
export function valueRange(parsed: Parsed, path: Path): Range {
  const spot = locate(parsed.doc, path);
  const whole = rangeOf(parsed, path);
  const key = spot.pair?.key.range;
  if (spot.path.length < path.length || isCollection(spot.node) || !spot.node?.range || endOf(parsed.text, spot.node) <= spot.node.range[0]) {
    return key ? { from: key[0], to: key[1] } : { from: whole.from, to: Math.min(whole.to, lineEnd(parsed.text, whole.from)) };
  }
  return { from: spot.node.range[0], to: endOf(parsed.text, spot.node) };
}

/** The range of the path's key, or of what stands there when it has none. */
export function keyRange(parsed: Parsed, path: Path): Range {
  const key = locate(parsed.doc, path).pair?.key.range;
  return key ? { from: key[0], to: key[1] } : rangeOf(parsed, path);
}

/** The deepest path whose text holds the offset; a comment or blank line belongs to what stands above it. */
export function pathAt(parsed: Parsed, offset: number): Path {
  const path: (string | number)[] = [];
  let node = parsed.doc.contents as Node | null;
  while (node) {
    if (isMap(node)) {
      const pair = (node as YAMLMap<Node, Node | null>).items.findLast(({ key }) => (key.range?.[0] ?? Infinity) <= offset);
      if (!pair) break;
      path.push(keyText(pair));
      if (!pair.value?.range || offset < lineStart(parsed.text, pair.value.range[0])) break;
      node = pair.value;
    } else if (isSeq(node)) {
      const starts = node.flow ? node.items.map((item) => (isNode(item) ? item.range?.[0] ?? Infinity : Infinity)) : dashes(node as YAMLSeq<Node>);
      const index = starts.findLastIndex((start) => start <= offset);
      if (index < 0) break;
      path.push(index);
      const item = node.items[index];
      node = isNode(item) ? item : null;
    } else {
      break;
    }
  }
  return path;
}

export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** The offset of the line's end, where its newline stands if it has one. */
export function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end < 0 ? text.length : end;
}
