/** The items by what `of` says of each, in the order of their first. */
export function groupBy<T, K>(items: readonly T[], of: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = of(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
