/** Form and YAML are one document: random edits on either side converge, and no comment is lost on the way. */
import { expect, it, vi } from 'vitest';
import { locate, pairEnd, parse, rangeOf } from './parse';
import { formatPath, type Path } from './path';
import { equal, isObject, valueAt, withValue } from './value';
import { Draft } from './draft';

const start = `# A policy, with a comment wherever one may stand.
apiVersion: policy.karmada.io/v1alpha1 # the group
kind: PropagationPolicy
metadata:
  # Its name.
  name: nginx # short
  namespace: 'default'
  labels: {team: web, tier: "1"} # in braces
spec:
  # What it means.
  resourceSelectors:
  # The first.
  - apiVersion: apps/v1
    kind: Deployment # by kind
    # By name.
    name: nginx

  - apiVersion: v1
    kind: ConfigMap
    labelSelector:
      matchLabels:
        app: nginx # of the app
  placement:
    clusterAffinity:
      clusterNames: # where
      # Near.
      - member1 # Paris
      - member2
      # Far.
      - member3 # Lima
    clusterTolerations:
      - key: dedicated # indented
        operator: Exists
    spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 2}]
    replicaScheduling:
      replicaSchedulingType: Divided
      # By weight.
      weightPreference:
        staticWeightList:
        - targetCluster:
            clusterNames: [member1]
          weight: 1 # a third
        - targetCluster:
            clusterNames:
            - member2
          weight: 2
  # How eager.
  priority: 5
# The end.
`;

/** Numbers that look random and are the same in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * sides);
  };
}

type Roll = ReturnType<typeof dice>;
const words = ['member1', 'edge-7', 'yes', '1.20', 'eu: west', '#x', '', 'null', '0x1F', '- a', 'multi\nline\n', 'it\'s', '"q"', ' pad ', '~', '[b', '集群', 'a, b', 'y'];
const names = ['name', 'note', 'on', 'a.b/c', '1', 'key', 'x y'];
const pick = <T>(roll: Roll, from: readonly T[]): T => from[roll(from.length)] as T;

function anyValue(roll: Roll, depth = 0): unknown {
  switch (roll(depth < 2 ? 7 : 4)) {
    case 0: return roll(100);
    case 1: return roll(2) === 0;
    case 4: return Array.from({ length: roll(3) }, () => anyValue(roll, depth + 1));
    case 5: case 6: return Object.fromEntries(Array.from({ length: 1 + roll(2) }, () => [pick(roll, names), anyValue(roll, depth + 1)]));
    default: return pick(roll, words);
  }
}

function allPaths(value: unknown, path: Path = []): Path[] {
  const inner = Array.isArray(value) ? value.map((item, index) => allPaths(item, [...path, index])) : isObject(value) ? Object.entries(value).map(([key, item]) => allPaths(item, [...path, key])) : [];
  return [path, ...inner.flat()];
}

const commentsOf = (text: string) => [...text.matchAll(/(?<=^|\s)# ?(?:A policy|the group|Its|short|in braces|What|The|by kind|By|of the app|where|Near|Paris|Far|Lima|indented|a third|How|note \d+)[^\n]*/g)].map((match) => match[0]).sort();

/** The comments that an edit may take along: those inside of what it replaces or removes, and on its last line. */
function exposed(text: string, path: Path): string[] {
  const parsed = parse(text);
  const spot = locate(parsed.doc, path);
  const { from } = rangeOf(parsed, spot.path);
  const end = spot.pair ? pairEnd(text, spot.pair) : rangeOf(parsed, spot.path).to;
  const line = text.indexOf('\n', end);
  return commentsOf(text.slice(from, line < 0 ? text.length : line));
}

function without(all: string[], some: string[]): string[] {
  return some.reduce((held, one) => { const at = held.indexOf(one); return at < 0 ? held : held.toSpliced(at, 1); }, all);
}

function formEdit(draft: Draft, roll: Roll): void {
  const { value, text } = draft.get().parsed;
  const path = pick(roll, allPaths(value).filter((one) => one.length > 1));
  const now = valueAt(value, path);
  const inside = Array.isArray(now) ? [...path, now.length] : isObject(now) ? [...path, pick(roll, names)] : path;
  const kind = roll(4);
  const target = kind === 0 ? path : inside;
  const next = kind === 0 ? undefined : Array.isArray(now) && kind === 1 ? now.toSpliced(roll(now.length + 1), roll(2), anyValue(roll)) : anyValue(roll);
  const at = Array.isArray(now) && kind === 1 ? path : target;
  const before = commentsOf(text);
  const mayGo = next === undefined || valueAt(value, at) !== undefined ? exposed(text, at) : [];
  draft.set(at, next);
  const expected = next === undefined && valueAt(value, at) === undefined ? value : withValue(value, at, next);
  const after = draft.get();
  expect(after.parsed.faults, `${formatPath(at)} = ${JSON.stringify(next)} in\n${text}\nmade\n${after.text}`).toEqual([]);
  expect(equal(after.parsed.value, expected), `${formatPath(at)} = ${JSON.stringify(next)} in\n${text}\nmade\n${after.text}`).toBe(true);
  const lost = without(without(before, commentsOf(after.text)), mayGo);
  expect(lost, `${formatPath(at)} = ${JSON.stringify(next)} in\n${text}\nmade\n${after.text}`).toEqual([]);
}

/** What a person types: comments, blank lines, other texts, half a line. */
function textEdit(draft: Draft, roll: Roll, count: number): void {
  const { text, parsed } = draft.get();
  const lines = text.split('\n');
  const at = roll(lines.length);
  const kind = roll(4);
  const indent = /^ */.exec(lines[at] ?? '')?.[0] ?? '';
  if (kind === 0) lines.splice(at, 0, `${indent}# note ${count}`);
  if (kind === 1) lines.splice(at, 0, '');
  if (kind === 2) lines[at] = (lines[at] ?? '').replace(/: ([a-z]\w*)( #|$)/, `: ${pick(roll, ['typed', '"quoted"', '\'single\'', '7'])}$2`);
  if (kind === 3) lines.splice(at, 1);
  const next = lines.join('\n');
  // Inside of a block of text a comment is text; such edits prove nothing here.
  const read = parse(next);
  if (read.faults.length > 0 || !isObject(read.value) || (kind < 2 && !equal(read.value, parsed.value))) {
    draft.replace(next);
    if (read.faults.length > 0) {
      const held = draft.get().sound.value;
      draft.set(['metadata', 'name'], 'while-broken');
      expect(draft.get().text, 'the form must not touch what cannot be read').toBe(next);
      expect(draft.get().sound.value).toBe(held);
    }
    draft.undo();
    expect(draft.get().text).toBe(text);
    return;
  }
  draft.replace(next);
  expect(draft.get().parsed.value).toEqual(read.value);
}

it.each([1, 2])('500 random edits on either side converge and lose no comment, run %i', { timeout: 300_000 }, (seed) => {
  const roll = dice(seed * 7_919);
  let draft = new Draft(start);
  for (let count = 0; count < 500; count++) {
    // Documents that grew or shrank beyond what anybody writes say little: begin again.
    if (draft.get().text.length > 6_000 || allPaths(draft.get().parsed.value).length < 12) draft = new Draft(start);
    if (roll(2) === 0) formEdit(draft, roll);
    else textEdit(draft, roll, count);
    expect(equal(parse(draft.get().text).value, draft.get().parsed.value)).toBe(true);
  }
});

it('undoes and redoes edits of both sides, in their order', () => {
  const draft = new Draft(start);
  const texts = [start];
  const keep = () => texts.push(draft.get().text);
  draft.set(['spec', 'priority'], 6);
  keep();
  draft.replace(`# typed\n${draft.get().text}`);
  keep();
  draft.set(['spec', 'placement', 'clusterAffinity', 'clusterNames'], ['member1', 'member3']);
  keep();
  for (let at = texts.length - 2; at >= 0; at--) {
    draft.undo();
    expect(draft.get().text).toBe(texts[at]);
  }
  expect(draft.get().canUndo).toBe(false);
  for (let at = 1; at < texts.length; at++) {
    draft.redo();
    expect(draft.get().text).toBe(texts[at]);
  }
});

it('keeps the form at the last text that could be read', () => {
  const draft = new Draft('a: 1\n');
  draft.replace('a: [1\n');
  expect(draft.get().parsed.faults.length).toBeGreaterThan(0);
  expect(draft.get().sound.value).toEqual({ a: 1 });
  draft.replace('a: [1]\n');
  expect(draft.get().sound.value).toEqual({ a: [1] });
});

it('takes a word typed into one field as one step, another field as another', () => {
  const draft = new Draft(start);
  for (const name of ['w', 'we', 'web']) draft.set(['metadata', 'name'], name);
  const typed = draft.get().text;
  for (const priority of [1, 12]) draft.set(['spec', 'priority'], priority);
  draft.undo();
  expect(draft.get().text).toBe(typed);
  draft.undo();
  expect(draft.get().text).toBe(start);
});

it('takes parents along that would be left empty, but no item of a list', () => {
  const draft = new Draft('spec:\n  a:\n    b:\n      c: 1\n  l:\n  - k:\n      c: 1\n');
  draft.clear(['spec', 'a', 'b', 'c']);
  draft.clear(['spec', 'l', 0, 'k', 'c']);
  expect(draft.get().parsed.value).toEqual({ spec: { l: [{}] } });
});

it('takes back what was typed into a field as a whole, however slowly it was typed', () => {
  vi.useFakeTimers();
  const draft = new Draft('metadata:\n  name: a\n');
  for (const name of ['ab', 'abc', 'abcd']) {
    vi.advanceTimersByTime(5_000);
    draft.set(['metadata', 'name'], name);
  }
  draft.set(['metadata', 'namespace'], 'shop');
  draft.undo();
  expect(draft.get().text).toBe('metadata:\n  name: abcd\n');
  draft.undo();
  expect(draft.get().text).toBe('metadata:\n  name: a\n');
  vi.useRealTimers();
});

it('parts what is typed into the text at the end of a line and where one stopped to think', () => {
  vi.useFakeTimers();
  const draft = new Draft('a: 1');
  const type = (text: string, pause = 600) => {
    vi.advanceTimersByTime(pause);
    const at = draft.get().text.length;
    draft.change({ changes: { from: at, insert: text }, selection: { anchor: at + text.length }, userEvent: 'input.type' });
  };
  for (const letter of '23') type(letter);
  type('\n');
  for (const letter of 'b: ') type(letter);
  type('4', 5_000);
  const seen = [1, 2, 3].map(() => { draft.undo(); return draft.get().text; });
  expect(seen).toEqual(['a: 123\nb: ', 'a: 123', 'a: 1']);
  vi.useRealTimers();
});
