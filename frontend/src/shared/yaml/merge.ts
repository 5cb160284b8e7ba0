/**
 * Three-way merge of values: what only one side changed is taken, what both changed alike is taken once, and what both
 * changed differently is a conflict that a person decides.
 */
import type { Path } from './path';
import { equal, isObject } from './value';

export interface Conflict {
  path: Path;
  base: unknown;
  mine: unknown;
  theirs: unknown;
}

export interface Merged {
  /** With mine wherever there is a conflict. */
  value: unknown;
  conflicts: Conflict[];
}

export function merge(base: unknown, mine: unknown, theirs: unknown, path: Path = []): Merged {
  if (equal(mine, theirs) || equal(base, theirs)) return { value: mine, conflicts: [] };
  if (equal(base, mine)) return { value: theirs, conflicts: [] };
  if (isObject(mine) && isObject(theirs)) return mergeObjects(isObject(base) ? base : {}, mine, theirs, path);
  if (Array.isArray(mine) && Array.isArray(theirs)) {
    const list = mergeLists(Array.isArray(base) ? base : [], mine, theirs, path);
    if (list) return list;
  }
  return { value: mine, conflicts: [{ path, base, mine, theirs }] };
}

function mergeObjects(base: Record<string, unknown>, mine: Record<string, unknown>, theirs: Record<string, unknown>, path: Path): Merged {
  const conflicts: Conflict[] = [];
  const entries = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])].flatMap((key) => {
    const merged = merge(base[key], mine[key], theirs[key], [...path, key]);
    conflicts.push(...merged.conflicts);
    return merged.value === undefined ? [] : [[key, merged.value] as const];
  });
  return { value: Object.fromEntries(entries), conflicts };
}

/** Lists of plain values merge as sets in order; others item by item, while no side added or removed one in the middle. */
function mergeLists(base: unknown[], mine: unknown[], theirs: unknown[], path: Path): Merged | undefined {
  const all = [...base, ...mine, ...theirs];
  if (all.every((item) => typeof item !== 'object' || item === null)) {
    const gone = new Set(base.filter((item) => !mine.includes(item) || !theirs.includes(item)));
    const value = [...mine.filter((item) => !gone.has(item)), ...theirs.filter((item) => !mine.includes(item) && !base.includes(item))];
    return { value, conflicts: [] };
  }
  if (mine.length === base.length && theirs.length === base.length) {
    const items = base.map((item, index) => merge(item, mine[index], theirs[index], [...path, index]));
    return { value: items.map((item) => item.value), conflicts: items.flatMap((item) => item.conflicts) };
  }
  // One side only appended, the other changed what was there: both hold.
  const [longer, other] = appends(base, mine) ? [mine, theirs] : appends(base, theirs) ? [theirs, mine] : [];
  if (longer && other && other.length === base.length) return { value: [...other, ...longer.slice(base.length)], conflicts: [] };
  if (longer && other && appends(base, other)) {
    const added = theirs.slice(base.length).filter((item) => !mine.some((own) => equal(own, item)));
    return { value: [...mine, ...added], conflicts: [] };
  }
  return undefined;
}

function appends(base: unknown[], list: unknown[]): boolean {
  return list.length > base.length && base.every((item, index) => equal(item, list[index]));
}
