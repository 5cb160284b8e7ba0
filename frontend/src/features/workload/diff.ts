/** Two manifests line by line, each changed line with the rules that changed it. */
import type { OverrideChange } from './types';
import { pointersOf, within } from './yamlPaths';

export interface DiffLine {
  op: 'same' | 'del' | 'add';
  text: string;
  /** Line numbers, from 1. */
  left?: number;
  right?: number;
  /** The rules that changed the line, in the order they were applied; none when no override did. */
  rules: OverrideChange[];
  /** The part of a changed line that differs from the line it stands for. */
  part?: [from: number, to: number];
}

/** A manifest and what the rules changed to make it; the template has no changes. */
export interface Side {
  yaml: string;
  changes: readonly OverrideChange[];
}

/** Beyond this many differences all counts as replaced: a manifest so different is not read line by line. */
const deepest = 1_000;

/** The lines of both sides in reading order, those that went before those that came. */
export function diff(left: Side, right: Side): DiffLine[] {
  const before = linesOf(left.yaml);
  const after = linesOf(right.yaml);
  const pointers = { left: pointersOf(before), right: pointersOf(after) };
  const rows: DiffLine[] = [];
  let l = 0;
  let r = 0;
  const hunk = (toLeft: number, toRight: number) => {
    const dels: DiffLine[] = before.slice(l, toLeft).map((text, i) => ({ op: 'del', text, left: l + i + 1, rules: rulesOf(pointers.left[l + i] ?? '', l + i + 1, left.changes, right.changes) }));
    const adds: DiffLine[] = after.slice(r, toRight).map((text, i) => ({ op: 'add', text, right: r + i + 1, rules: rulesOf(pointers.right[r + i] ?? '', r + i + 1, right.changes, left.changes) }));
    pair(dels, adds, pointers);
    rows.push(...dels, ...adds);
    [l, r] = [toLeft, toRight];
  };
  for (const [i, j] of kept(before, after)) {
    hunk(i, j);
    rows.push({ op: 'same', text: before[i] ?? '', left: i + 1, right: j + 1, rules: [] });
    [l, r] = [i + 1, j + 1];
  }
  hunk(before.length, after.length);
  return rows;
}

export function linesOf(yaml: string): string[] {
  return yaml.replace(/\n$/, '').split('\n');
}

/** What changed the line: a rule of its own manifest at, above or below its place; else a rule of the other one, which took it away there. */
function rulesOf(pointer: string, line: number, own: readonly OverrideChange[], other: readonly OverrideChange[]): OverrideChange[] {
  for (const changes of [own, other]) {
    const over = changes.filter((change) => within(pointer, change.path));
    if (over.length > 0) return over;
    const below = changes.filter((change) => within(change.path, pointer));
    if (below.length > 0) return below;
  }
  return own.filter((change) => change.line === line);
}

/** Marks in lines that stand for each other what is different. */
function pair(dels: DiffLine[], adds: DiffLine[], pointers: { left: string[]; right: string[] }): void {
  for (const [index, del] of dels.entries()) {
    const place = pointers.left[(del.left ?? 0) - 1];
    const add = dels.length === adds.length ? adds[index] : adds.find((one) => !one.part && pointers.right[(one.right ?? 0) - 1] === place);
    if (!add) continue;
    const [from, to] = [del, add].map((line) => /^[\s-]*/.exec(line.text)?.[0].length ?? 0) as [number, number];
    const [head, tail] = commonEnds(del.text.slice(from), add.text.slice(to));
    // Two lines with nothing in common are marked whole.
    if (head + tail === 0) continue;
    del.part = [from + head, del.text.length - tail];
    add.part = [to + head, add.text.length - tail];
  }
}

function commonEnds<T>(a: ArrayLike<T>, b: ArrayLike<T>): [head: number, tail: number] {
  const most = Math.min(a.length, b.length);
  let head = 0;
  while (head < most && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < most - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return [head, tail];
}

/** The lines that stay, as pairs of indices (Myers' greedy algorithm). */
function kept(a: string[], b: string[]): [number, number][] {
  const [head, tail] = commonEnds(a, b);
  const middle = shortest(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  return [
    ...Array.from({ length: head }, (_, i): [number, number] => [i, i]),
    ...middle.map(([i, j]): [number, number] => [i + head, j + head]),
    ...Array.from({ length: tail }, (_, i): [number, number] => [a.length - tail + i, b.length - tail + i]),
  ];
}

function shortest(a: string[], b: string[]): [number, number][] {
  if (a.length === 0 || b.length === 0) return [];
  const most = Math.min(a.length + b.length, deepest);
  const reach = new Int32Array(2 * most + 3);
  const at = (row: Int32Array, k: number) => row[k + most + 1] ?? 0;
  const trace: Int32Array[] = [];
  for (let d = 0; d <= most; d++) {
    trace.push(reach.slice());
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && at(reach, k - 1) < at(reach, k + 1)) ? at(reach, k + 1) : at(reach, k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach[k + most + 1] = x;
      if (x >= a.length && x - k >= b.length) return walkBack(trace, at, a.length, b.length);
    }
  }
  return [];
}

function walkBack(trace: Int32Array[], at: (row: Int32Array, k: number) => number, x: number, y: number): [number, number][] {
  const pairs: [number, number][] = [];
  for (let d = trace.length - 1; d >= 0; d--) {
    const row = trace[d] as Int32Array;
    const k = x - y;
    const before = k === -d || (k !== d && at(row, k - 1) < at(row, k + 1)) ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : at(row, before);
    const fromY = d === 0 ? 0 : fromX - before;
    while (x > fromX && y > fromY) pairs.push([--x, --y]);
    [x, y] = [fromX, fromY];
  }
  return pairs.reverse();
}

/** A run of lines to show, or one that is folded away because nothing changed near it. */
export interface Stretch {
  folded: boolean;
  from: number;
  to: number;
}

/** Shows changes with some lines around them; a fold that would hide next to nothing is none. */
export function stretches(lines: readonly DiffLine[], context = 3, least = 3): Stretch[] {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, i) => { if (line.op !== 'same') near.fill(1, Math.max(0, i - context), i + context + 1); });
  const all: Stretch[] = [];
  for (let i = 0; i < lines.length;) {
    let to = i;
    while (to < lines.length && near[to] === near[i]) to++;
    const folded = !near[i] && to - i >= least;
    const last = all.at(-1);
    if (last && !last.folded && !folded) last.to = to;
    else all.push({ folded, from: i, to });
    i = to;
  }
  return all;
}

/** A rule's name in a list of its own: the same for all changes it made. */
export function ruleKey(change: OverrideChange): string {
  return [change.policy.kind, change.policy.namespace, change.policy.name, change.rule, change.overrider].join('/');
}

/** The rules that are at work in the lines, in the order of their first line, and how many lines each changed. */
export function rulesAtWork(lines: readonly DiffLine[]): { change: OverrideChange; lines: number }[] {
  const rules = new Map<string, { change: OverrideChange; lines: number }>();
  for (const line of lines) {
    for (const key of new Set(line.rules.map(ruleKey))) {
      const change = line.rules.find((one) => ruleKey(one) === key) as OverrideChange;
      const held = rules.get(key) ?? { change, lines: 0 };
      held.lines++;
      rules.set(key, held);
    }
  }
  return [...rules.values()];
}
