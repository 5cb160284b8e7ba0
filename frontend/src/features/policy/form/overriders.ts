/** The seven sorts of overriders, in the order in which the hub applies them. */
export const sorts = ['imageOverrider', 'commandOverrider', 'argsOverrider', 'labelsOverrider', 'annotationsOverrider', 'fieldOverrider', 'plaintext'] as const;

export type Sort = typeof sorts[number];

/** A new entry of the sort, as complete as it can be without knowing more. */
export function overriderOf(sort: Sort): Record<string, unknown> {
  switch (sort) {
    case 'imageOverrider': return { component: 'Tag', operator: 'replace', value: '' };
    case 'commandOverrider': case 'argsOverrider': return { containerName: '', operator: 'add', value: [] };
    case 'labelsOverrider': case 'annotationsOverrider': return { operator: 'add', value: {} };
    case 'fieldOverrider': return { fieldPath: '/data/config.yaml', yaml: [{ subPath: '/', operator: 'replace', value: '' }] };
    case 'plaintext': return { path: '/', operator: 'replace', value: '' };
  }
}
