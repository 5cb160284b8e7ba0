/** Which policy a document is. */
import type { PolicyAt } from '@/app/paths';
import { valueAt } from '@/shared/yaml/value';
import { type KindFacts, kinds } from '../kinds';

export interface Identity extends PolicyAt {
  facts: KindFacts;
  /** The document's kind is one of the four. */
  known: boolean;
}

/** What the document says it is; where it says nothing, what the page was opened for. */
export function identityOf(value: unknown, opened: KindFacts): Identity {
  const kind = valueAt(value, ['kind']);
  const facts = kinds.find((one) => one.kind === kind);
  const text = (key: string) => {
    const held = valueAt(value, ['metadata', key]);
    return held === undefined || held === null ? '' : String(held);
  };
  const used = facts ?? opened;
  return { facts: used, known: facts !== undefined, resource: used.resource, namespace: used.namespaced ? text('namespace') || 'default' : undefined, name: text('name') };
}

export function sameIdentity(a: PolicyAt, b: PolicyAt): boolean {
  return a.resource === b.resource && a.name === b.name && (a.namespace ?? '') === (b.namespace ?? '');
}
