/** Plain values as YAML and JSON know them. */
import type { Path } from './path';

export type PlainObject = Record<string, unknown>;

export function isObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether two values say the same; the order of keys says nothing. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, index) => equal(item, b[index]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && equal(a[key], b[key]));
}

export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((held, part) => {
    if (Array.isArray(held) && typeof part === 'number') return held[part];
    return isObject(held) && Object.hasOwn(held, String(part)) ? held[String(part)] : undefined;
  }, value);
}

/** The value with another at the path; undefined takes it away. Missing parents are made. */
export function withValue(value: unknown, path: Path, next: unknown): unknown {
  const [part, ...rest] = path;
  if (part === undefined) return next;
  if (typeof part === 'number') {
    const list = Array.isArray(value) ? value : [];
    const inner = withValue(list[part], rest, next);
    return inner === undefined ? list.toSpliced(part, 1) : part < list.length ? list.with(part, inner) : [...list, inner];
  }
  const object = isObject(value) ? value : {};
  const inner = withValue(object[part], rest, next);
  if (inner !== undefined) return { ...object, [part]: inner };
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== part));
}

/** Without what says nothing: undefined, empty texts, lists and objects, at every depth. Undefined when nothing is left. */
export function pruned(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(pruned).filter((item) => item !== undefined);
    return items.length > 0 ? items : undefined;
  }
  if (isObject(value)) {
    const entries = Object.entries(value).map(([key, inner]) => [key, pruned(inner)] as const).filter(([, inner]) => inner !== undefined);
    return entries.length > 0 ? Object.fromEntries(entries) : undefined;
  }
  return value === '' || value === null ? undefined : value;
}
