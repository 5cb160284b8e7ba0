/** Where a value stands in a document: the keys and indexes that lead to it. */
export type Path = readonly (string | number)[];

/** "spec.resourceSelectors[0].kind", as the API server names fields; a key with a dot or slash stands in brackets. */
export function formatPath(path: Path): string {
  return path.map((part, index) => {
    if (typeof part === 'number' || /[./[\]]/.test(part)) return `[${part}]`;
    return index === 0 ? part : `.${part}`;
  }).join('');
}

/** Reads what formatPath and the API server write; an index is a number, another thing in brackets a key. */
export function parsePath(text: string): Path {
  return [...text.matchAll(/([^.[\]]+)|\[([^\]]*)\]/g)].map(([, plain, inside]) => {
    if (plain !== undefined) return plain;
    const key = (inside ?? '').replace(/^["']|["']$/g, '');
    return /^\d+$/.test(key) ? Number(key) : key;
  });
}

export function startsWith(path: Path, beginning: Path): boolean {
  return beginning.length <= path.length && beginning.every((part, index) => part === path[index]);
}

export function samePath(a: Path, b: Path): boolean {
  return a.length === b.length && startsWith(a, b);
}
