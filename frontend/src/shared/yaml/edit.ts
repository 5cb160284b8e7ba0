/**
 * Single edits of a YAML text at a path. Each touches as few characters as it can, so that comments, order, quoting and
 * blank lines elsewhere stay as they are. A comment on a line that goes, goes with it; comments on lines of their own stay.
 */
import { Document, isCollection, isMap, isNode, isScalar, isSeq, type Node, type Pair, type Scalar, stringify, visit, type YAMLMap, type YAMLSeq } from 'yaml';
import { dashes, dialect, endOf, lineEnd, lineStart, locate, pairEnd, parse, type Parsed, type Spot } from './parse';
import type { Path } from './path';
import { equal, isObject, withValue } from './value';

/** Puts a value at the path, which is made where it is missing. */
export function put(text: string, path: Path, value: unknown): string {
  const parsed = parse(text);
  const expected = withValue(parsed.value, path, value);
  const spot = locate(parsed.doc, path);
  const missing = path.slice(spot.path.length);
  const wrapped = missing.slice(1).reduceRight<unknown>((inner, part) => (typeof part === 'number' ? [inner] : { [part]: inner }), value);
  const [first] = missing;
  const { node } = spot;
  const next = first === undefined ? replace(parsed, spot, value)
    : isSeq(node) && node.items.length > 0 && typeof first === 'number' ? insertItem(parsed, node as YAMLSeq<Node>, node.items.length, wrapped)
      : isMap(node) && node.items.length > 0 && typeof first === 'string' ? insertPair(parsed, node as YAMLMap<Node, Node | null>, first, wrapped)
        : replace(parsed, spot, typeof first === 'number' ? [wrapped] : { [first]: wrapped });
  return checked(next, expected) ?? redone(parsed, path, value);
}

/** Puts a new item into the list at the path, before the item that has the index now. */
export function insert(text: string, path: Path, index: number, value: unknown): string {
  const parsed = parse(text);
  const { node, path: found } = locate(parsed.doc, path);
  if (found.length < path.length || !isSeq(node) || node.items.length === 0) return put(text, path, [value]);
  const list = node.toJS(parsed.doc) as unknown[];
  const expected = withValue(parsed.value, path, list.toSpliced(index, 0, value));
  return checked(insertItem(parsed, node as YAMLSeq<Node>, index, value), expected) ?? redone(parsed, path, list.toSpliced(index, 0, value));
}

/** Takes what stands at the path away. A collection that loses its last entry stays, empty. */
export function remove(text: string, path: Path): string {
  const parsed = parse(text);
  const spot = locate(parsed.doc, path);
  if (path.length === 0 || spot.path.length < path.length || !spot.parent) return text;
  const expected = withValue(parsed.value, path, undefined);
  const above = path.slice(0, -1);
  const next = spot.parent.items.length === 1 ? emptied(parsed, spot, locate(parsed.doc, above))
    : spot.parent.flow ? removeFlow(parsed, spot)
      : removeBlock(parsed, spot);
  return checked(next, expected) ?? redone(parsed, path, undefined);
}

/** The text when it says what it should. */
function checked(text: string, expected: unknown): string | undefined {
  const { faults, value } = parse(text);
  return faults.length === 0 && equal(value, expected) ? text : undefined;
}

/** The way out where a text cannot be mended in place: the whole document is written anew, with its comments. */
function redone(parsed: Parsed, path: Path, value: unknown): string {
  const copy = parsed.doc.clone() as Document;
  if (path.length === 0) return stringify(value, writing(parsed));
  if (value === undefined) copy.deleteIn(path);
  else copy.setIn(path, copy.createNode(value));
  return copy.toString(writing(parsed));
}

function writing({ text, doc }: Parsed) {
  return { ...dialect, lineWidth: 0, indentSeq: indentsLists(text, doc) };
}

/** Whether the document's first list is indented below its key; kubectl does not indent. */
function indentsLists(text: string, doc: Document.Parsed): boolean {
  let indents = false;
  visit(doc, {
    Pair: (_, { key, value }) => {
      const dash = isSeq(value) && dashes(value as YAMLSeq<Node>)[0];
      if (typeof dash !== 'number' || !isNode(key)) return undefined;
      indents = columnOf(text, dash) > columnOf(text, key.range?.[0] ?? 0);
      return visit.BREAK;
    },
  });
  return indents;
}

function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

/** Indents all lines but the first, and no blank ones. */
function indented(block: string, column: number): string {
  return block.replace(/\n(?=[^\n])/g, `\n${' '.repeat(column)}`);
}

/** What stands behind "key:", with the blank or newline between. */
function valueText(parsed: Parsed, value: unknown, column: number): string {
  return indented(stringify({ k: value }, writing(parsed)).replace(/\n$/, '').slice(2), column);
}

function pairText(parsed: Parsed, key: string, value: unknown, column: number): string {
  return indented(stringify({ [key]: value }, writing(parsed)).replace(/\n$/, ''), column);
}

function itemText(parsed: Parsed, value: unknown, column: number): string {
  return indented(stringify([value], writing(parsed)).replace(/\n$/, ''), column);
}

function spliced(text: string, from: number, to: number, by: string): string {
  return text.slice(0, from) + by + text.slice(to);
}

/** A value inside of brackets or braces, where JSON is YAML. */
function flowText(value: unknown): string {
  const plain = typeof value === 'string' && /^[A-Za-z][\w./-]*$/.test(value) && parse(value).value === value;
  return plain ? value : JSON.stringify(value);
}

/** A scalar in the quotes that stood there before, where they still serve. */
function scalarText(parsed: Parsed, before: Scalar, value: unknown): string {
  const next = new Document(value, dialect);
  const quoted = before.type === 'QUOTE_SINGLE' || before.type === 'QUOTE_DOUBLE';
  if (typeof value === 'string' && quoted && typeof before.value === 'string') (next.contents as unknown as Scalar).type = before.type;
  return next.toString(writing(parsed)).trimEnd();
}

function replace(parsed: Parsed, spot: Spot, value: unknown): string {
  const { text } = parsed;
  const { node, pair, parent } = spot;
  if (!pair && !parent) {
    const whole = stringify(value, writing(parsed));
    if (node?.range) return spliced(text, node.range[0], Math.max(node.range[0], endOf(text, node)), whole.trimEnd());
    return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${whole}`;
  }
  const simple = !isObject(value) && !Array.isArray(value) && !(typeof value === 'string' && value.includes('\n'));
  if (simple && node?.range && isScalar(node) && node.range[1] > node.range[0] && node.type !== 'BLOCK_LITERAL' && node.type !== 'BLOCK_FOLDED') {
    return spliced(text, node.range[0], node.range[1], parent?.flow ? flowText(value) : scalarText(parsed, node, value));
  }
  if (parent?.flow && node?.range) return spliced(text, node.range[0], endOf(text, node), flowText(value));
  if (standsAlone(text, node)) {
    return spliced(text, node.range[0], node.range[1], indented(stringify(value, writing(parsed)).trimEnd(), columnOf(text, node.range[0])));
  }
  if (pair) {
    const from = text.indexOf(':', endOf(text, pair.key)) + 1;
    return spliced(text, from, Math.max(from, pairEnd(text, pair)), valueText(parsed, value, columnOf(text, pair.key.range?.[0] ?? 0)));
  }
  const dash = dashes(parent as YAMLSeq<Node>)[spot.index] ?? 0;
  return spliced(text, dash, Math.max(dash + 1, endOf(text, node)), itemText(parsed, value, columnOf(text, dash)));
}

/** Takes the last entry of a collection away. Comments above it keep their lines, and the empty collection the entry's. */
function emptied(parsed: Parsed, spot: Spot, above: Spot): string {
  const { text } = parsed;
  const empty = isMap(spot.parent) ? '{}' : '[]';
  const from = spot.pair ? spot.pair.key.range?.[0] ?? 0 : dashes(spot.parent as YAMLSeq<Node>)[0] ?? 0;
  const head = above.pair ? above.pair.key.range?.[0] ?? 0 : above.parent && dashes(above.parent as YAMLSeq<Node>)[above.index];
  const commented = head !== undefined && !spot.parent?.flow && /\s#/.test(text.slice(head, from)) && /^\s*$/.test(text.slice(lineStart(text, from), from));
  if (!commented) return replace(parsed, above, isMap(spot.parent) ? {} : []);
  const deeper = columnOf(text, from) > columnOf(text, head) ? '' : '  ';
  const to = spot.pair ? pairEnd(text, spot.pair) : Math.max(from + 1, endOf(text, spot.node));
  return spliced(text, from, lineEnd(text, to), deeper + empty);
}

/** Whether an empty collection stands on a line of its own, below comments that must stay. */
function standsAlone(text: string, node: Node | null): node is Node & { range: [number, number, number] } {
  if (!isCollection(node) || node.items.length > 0 || !node.range) return false;
  return /^ +$/.test(text.slice(lineStart(text, node.range[0]), node.range[0]));
}

function insertPair(parsed: Parsed, map: YAMLMap<Node, Node | null>, key: string, value: unknown): string {
  const { text } = parsed;
  const first = map.items[0] as Pair<Node, Node | null>;
  const last = map.items.at(-1) as Pair<Node, Node | null>;
  const end = pairEnd(text, last);
  if (map.flow) return spliced(text, end, end, `, ${flowText(key)}: ${flowText(value)}`);
  const column = columnOf(text, first.key.range?.[0] ?? 0);
  const at = lineEnd(text, end);
  return spliced(text, at, at, `\n${' '.repeat(column)}${pairText(parsed, key, value, column)}`);
}

function insertItem(parsed: Parsed, list: YAMLSeq<Node>, index: number, value: unknown): string {
  const { text } = parsed;
  const before = list.items[index - 1];
  const after = list.items[index];
  if (list.flow) {
    if (after?.range) return spliced(text, after.range[0], after.range[0], `${flowText(value)}, `);
    const end = endOf(text, before ?? null);
    return spliced(text, end, end, `, ${flowText(value)}`);
  }
  const starts = dashes(list);
  const column = columnOf(text, starts[0] ?? 0);
  if (index === 0) return spliced(text, starts[0] ?? 0, starts[0] ?? 0, `${itemText(parsed, value, column)}\n${' '.repeat(column)}`);
  const at = lineEnd(text, Math.max(starts[index - 1] ?? 0, endOf(text, before ?? null)));
  return spliced(text, at, at, `\n${' '.repeat(column)}${itemText(parsed, value, column)}`);
}

function removeBlock({ text }: Parsed, spot: Spot): string {
  const from = spot.pair ? spot.pair.key.range?.[0] ?? 0 : dashes(spot.parent as YAMLSeq<Node>)[spot.index] ?? 0;
  const to = lineEnd(text, spot.pair ? pairEnd(text, spot.pair) : Math.max(from + 1, endOf(text, spot.node)));
  const start = lineStart(text, from);
  const alone = /^\s*$/.test(text.slice(start, from));
  // The first key of a list item shares its line with the dash: what follows moves up to it.
  if (!alone) return spliced(text, from, to + (/^\n\s*/.exec(text.slice(to))?.[0].length ?? 0), '');
  return to < text.length ? spliced(text, start, to + 1, '') : spliced(text, Math.max(0, start - 1), to, '');
}

function removeFlow({ text }: Parsed, spot: Spot): string {
  const ends = (index: number): [number, number] => {
    const entry = spot.parent?.items[index] as Pair<Node, Node | null> | Node;
    if ('key' in entry) return [entry.key.range?.[0] ?? 0, entry.value?.range ? endOf(text, entry.value) : endOf(text, entry.key)];
    return [entry.range?.[0] ?? 0, endOf(text, entry)];
  };
  const [from, to] = ends(spot.index);
  const next = spot.parent?.items[spot.index + 1];
  return next ? spliced(text, from, ends(spot.index + 1)[0], '') : spliced(text, ends(spot.index - 1)[1], to, '');
}
