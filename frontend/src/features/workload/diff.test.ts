import { expect, it } from 'vitest';
import { diff, rulesAtWork, stretches } from './diff';
import type { OverrideChange, PolicyRef } from './types';

const policy: PolicyRef = { kind: 'OverridePolicy', resource: 'overridepolicies', namespace: 'default', name: 'nginx' };
const change = (path: string, line: number, rule: number, overrider = 'plaintext'): OverrideChange => ({ path, line, rule, overrider, policy });

const template = `apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app: nginx
    drop: me
  name: nginx
spec:
  template:
    spec:
      containers:
      - image: nginx
        name: nginx
`;
const final = `apiVersion: apps/v1
kind: Deployment
metadata:
  annotations:
    zone: eu-1
  labels:
    app: nginx
  name: nginx
spec:
  template:
    spec:
      containers:
      - args:
        - --level=debug
        image: nginx:1.20
        name: nginx
`;
const changes = [
  change('/metadata/annotations/zone', 5, 0, 'annotationsOverrider'),
  change('/metadata/labels/drop', 0, 1, 'labelsOverrider'),
  change('/spec/template/spec/containers/0/args', 13, 2, 'argsOverrider'),
  change('/spec/template/spec/containers/0/image', 15, 3, 'imageOverrider'),
];
const shown = (lines: ReturnType<typeof diff>) => lines.filter((line) => line.op !== 'same').map((line) => `${line.op} ${line.text.trim()} ${line.rules.map((one) => one.rule).join()}`);

it('names the rule of every changed line', () => {
  const lines = diff({ yaml: template, changes: [] }, { yaml: final, changes });
  expect(shown(lines)).toEqual([
    'add annotations: 0', 'add zone: eu-1 0', 'del drop: me 1',
    'del - image: nginx 3', 'add - args: 2', 'add - --level=debug 2', 'add image: nginx:1.20 3',
  ]);
  expect(lines.map((line) => line.left).filter(Boolean)).toEqual(template.trim().split('\n').map((_, i) => i + 1));
  expect(lines.map((line) => line.right).filter(Boolean)).toEqual(final.trim().split('\n').map((_, i) => i + 1));
});

it('counts the lines of each rule', () => {
  const lines = diff({ yaml: template, changes: [] }, { yaml: final, changes });
  expect(rulesAtWork(lines).map((one) => [one.change.overrider, one.lines])).toEqual([['annotationsOverrider', 2], ['labelsOverrider', 1], ['imageOverrider', 2], ['argsOverrider', 2]]);
});

it('compares two clusters: each line names the rule of its side, or the one that took it away on the other', () => {
  const a = { yaml: 'spec:\n  image: nginx:1.20\n  keep: x\n', changes: [change('/spec/image', 2, 1)] };
  const b = { yaml: 'spec:\n  image: nginx:1.21\n', changes: [change('/spec/image', 2, 2), change('/spec/keep', 0, 3)] };
  expect(shown(diff(a, b))).toEqual(['del image: nginx:1.20 1', 'del keep: x 3', 'add image: nginx:1.21 2']);
  expect(shown(diff(b, a))).toEqual(['del image: nginx:1.21 2', 'add image: nginx:1.20 1', 'add keep: x 3']);
});

it('says so when no override changed a line', () => {
  expect(shown(diff({ yaml: 'spec:\n  replicas: 2\n', changes: [] }, { yaml: 'spec:\n  replicas: 1\n', changes: [] }))).toEqual(['del replicas: 2 ', 'add replicas: 1 ']);
});

it('names all rules of a line that several changed, the last one last', () => {
  const lines = diff({ yaml: 'image: a\n', changes: [] }, { yaml: 'image: c\n', changes: [change('/image', 1, 0), change('/image', 1, 4)] });
  expect(shown(lines)).toEqual(['del image: a 0,4', 'add image: c 0,4']);
});

it('marks the part of a line that differs', () => {
  const [del, add] = diff({ yaml: '  image: nginx:1.19.0\n', changes: [] }, { yaml: '  image: nginx:1.20.0\n', changes: [] });
  expect(del?.text.slice(...(del.part ?? []))).toBe('19');
  expect(add?.text.slice(...(add.part ?? []))).toBe('20');
  const [, moved] = diff({ yaml: '- image: a:1\n', changes: [] }, { yaml: '- args: x\n  image: b:1\n', changes: [] });
  expect(moved?.part).toBeUndefined();
  const whole = diff({ yaml: '  a: b\n', changes: [] }, { yaml: '  zz: yy\n', changes: [] });
  expect(whole.map((line) => line.part)).toEqual([undefined, undefined]);
});

it('finds nothing in equal manifests', () => {
  expect(diff({ yaml: template, changes: [] }, { yaml: template, changes: [] }).every((line) => line.op === 'same')).toBe(true);
});

it('ends for manifests that have nothing in common', () => {
  const text = (n: number) => Array.from({ length: 3_000 }, (_, i) => `k${n}-${i}: ${i}`).join('\n');
  const lines = diff({ yaml: text(1), changes: [] }, { yaml: text(2), changes: [] });
  expect(lines.length).toBe(6_000);
});

it('gives back both sides, whatever they are', () => {
  let seed = 7;
  const random = (n: number) => { seed = (seed * 48_271) % 2_147_483_647; return seed % n; };
  for (let round = 0; round < 200; round++) {
    const side = () => Array.from({ length: 1 + random(12) }, () => 'abcd'[random(4)]).join('\n');
    const [left, right] = [side(), side()];
    const lines = diff({ yaml: left, changes: [] }, { yaml: right, changes: [] });
    expect(lines.filter((line) => line.left).map((line) => line.text).join('\n')).toBe(left);
    expect(lines.filter((line) => line.right).map((line) => line.text).join('\n')).toBe(right);
  }
});

it('folds what is far from any change', () => {
  const yaml = (image: string) => [...Array.from({ length: 10 }, (_, i) => `a${i}: 1`), `image: ${image}`, ...Array.from({ length: 5 }, (_, i) => `b${i}: 1`)].join('\n');
  const lines = diff({ yaml: yaml('x'), changes: [] }, { yaml: yaml('y'), changes: [] });
  expect(stretches(lines)).toEqual([{ folded: true, from: 0, to: 7 }, { folded: false, from: 7, to: 17 }]);
  expect(stretches(diff({ yaml: 'a\nb\nc', changes: [] }, { yaml: 'a\nb\nc', changes: [] }))).toEqual([{ folded: true, from: 0, to: 3 }]);
  expect(stretches([])).toEqual([]);
});
