/** Choices of clusters, and those that choose none: the hub takes them for every cluster. */
import type { Path } from '@/shared/yaml/path';
import { isObject, valueAt } from '@/shared/yaml/value';

/** Each of these narrows a choice, unless it is empty. */
const narrowing: Path[] = [['clusterNames'], ['exclude'], ['labelSelector', 'matchLabels'], ['labelSelector', 'matchExpressions'], ['fieldSelector', 'matchExpressions']];

export function choosesNone(choice: unknown): boolean {
  return narrowing.every((path) => {
    const held = valueAt(choice, path);
    return Array.isArray(held) ? held.length === 0 : !isObject(held) || Object.keys(held).length === 0;
  });
}

/** Where a policy says "chosen clusters" and chooses none. A group that has a name of its own says nothing of the kind. */
export function emptyChoices(policy: unknown): Path[] {
  const rules = valueAt(policy, ['spec', 'overrideRules']);
  const choices: Path[] = [['spec', 'placement', 'clusterAffinity'], ...(Array.isArray(rules) ? rules.map((_, index): Path => ['spec', 'overrideRules', index, 'targetCluster']) : [])];
  return choices.filter((path) => {
    const choice = valueAt(policy, path);
    return choice !== undefined && choosesNone(choice);
  });
}
