/** What the hub writes on a template for itself. Nobody edits it, so the editor leaves it out; saving sends changes only, and keeps it. */
import { Draft } from '@/shared/yaml/draft';
import { isObject, valueAt } from '@/shared/yaml/value';

const noted = /^(cluster)?propagationpolicy\.karmada\.io\//;
const ours = /(^|\.)karmada\.io\//;

/** The text without the labels, annotations and finalizers of the hub. */
export function withoutMarks(yaml: string): string {
  const draft = new Draft(yaml);
  for (const field of ['labels', 'annotations']) {
    const held = valueAt(draft.get().parsed.value, ['metadata', field]);
    for (const key of isObject(held) ? Object.keys(held) : []) {
      if (noted.test(key)) draft.clear(['metadata', field, key]);
    }
  }
  // A list is saved as a whole: beside those of others, ours are shown.
  const finalizers = valueAt(draft.get().parsed.value, ['metadata', 'finalizers']);
  if (Array.isArray(finalizers) && finalizers.every((one) => typeof one === 'string' && ours.test(one))) draft.set(['metadata', 'finalizers'], undefined);
  return draft.get().text;
}
