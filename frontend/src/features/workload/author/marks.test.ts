import { expect, it } from 'vitest';
import { withoutMarks } from './marks';

it('leaves out what the hub notes on a template, and nothing else', () => {
  expect(withoutMarks(`metadata:
  annotations:
    propagationpolicy.karmada.io/name: web
    propagationpolicy.karmada.io/namespace: shop
  finalizers:
  - karmada.io/binding-controller
  labels:
    app: web # mine
    propagationpolicy.karmada.io/permanent-id: abd1
  name: web
`)).toBe(`metadata:
  labels:
    app: web # mine
  name: web
`);
});

it('keeps a text without marks as it is, and finalizers of others', () => {
  const text = 'metadata:\n  annotations: {work.karmada.io/conflict-resolution: overwrite}\n  finalizers: [karmada.io/x, example.com/y]\n  name: a\n';
  expect(withoutMarks(text)).toBe(text);
});
