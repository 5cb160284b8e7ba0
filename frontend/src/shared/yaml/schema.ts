/** The API's own schema of a policy: what may stand at a path, and what is wrong with a value. */
import { type Path } from './path';
import { isObject } from './value';

/** The part of JSON schema that CRDs use. */
export interface Schema {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  required?: string[];
  enum?: unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  minLength?: number;
  maxLength?: number;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
}

const text = { type: 'string' };

/** CRDs say of metadata only that it is an object. */
const metadata: Schema = {
  type: 'object',
  properties: {
    name: text, namespace: text, labels: { type: 'object', additionalProperties: text }, annotations: { type: 'object', additionalProperties: text },
    finalizers: { type: 'array', items: text }, resourceVersion: text, uid: text, generation: { type: 'integer' }, creationTimestamp: text,
  },
  required: ['name'],
};

/** The schema as the editor uses it: with metadata, without the status that nobody writes by hand. */
export function completed(schema: Schema): Schema {
  const properties = Object.fromEntries(Object.entries(schema.properties ?? {}).filter(([key]) => key !== 'status'));
  return { ...schema, properties: { ...properties, metadata }, required: [...new Set([...(schema.required ?? []), 'apiVersion', 'kind', 'metadata'])] };
}

/** The schema of what stands at the path; undefined where the schema says nothing. */
export function schemaAt(schema: Schema | undefined, path: Path): Schema | undefined {
  return path.reduce<Schema | undefined>((held, part) => {
    if (!held) return undefined;
    if (typeof part === 'number') return held.items;
    const named = held.properties?.[part];
    return named ?? (isObject(held.additionalProperties) ? (held.additionalProperties as Schema) : undefined);
  }, schema);
}

export type Fault =
  | { path: Path; what: 'unknown'; key: string; near?: string }
  | { path: Path; what: 'missing'; key: string }
  | { path: Path; what: 'type'; wanted: string }
  | { path: Path; what: 'enum'; allowed: string[] }
  | { path: Path; what: 'least' | 'most' | 'items'; bound: number };

/** Everything in the value that the schema forbids. It is quick and local; the hub's dry run knows more. */
export function faultsOf(schema: Schema, value: unknown, path: Path = []): Fault[] {
  if (value === null || value === undefined) return [];
  const wanted = typeFault(schema, value);
  if (wanted) return [{ path, what: 'type', wanted }];
  if (schema.enum && !schema.enum.includes(value)) return [{ path, what: 'enum', allowed: schema.enum.map(String) }];
  if (typeof value === 'number') {
    if (schema.minimum !== undefined && value < schema.minimum) return [{ path, what: 'least', bound: schema.minimum }];
    if (schema.maximum !== undefined && value > schema.maximum) return [{ path, what: 'most', bound: schema.maximum }];
  }
  if (Array.isArray(value)) {
    const few: Fault[] = value.length < (schema.minItems ?? 0) ? [{ path, what: 'items', bound: schema.minItems ?? 0 }] : [];
    return [...few, ...value.flatMap((item, index) => (schema.items ? faultsOf(schema.items, item, [...path, index]) : []))];
  }
  return isObject(value) ? objectFaults(schema, value, path) : [];
}

function objectFaults(schema: Schema, value: Record<string, unknown>, path: Path): Fault[] {
  const missing = (schema.required ?? []).filter((key) => value[key] === undefined || value[key] === null).map((key): Fault => ({ path, what: 'missing', key }));
  const open = schema['x-kubernetes-preserve-unknown-fields'] || schema.additionalProperties === true || !schema.properties && !schema.additionalProperties;
  const inner = Object.entries(value).flatMap(([key, item]): Fault[] => {
    const known = schemaAt(schema, [key]);
    if (known) return faultsOf(known, item, [...path, key]);
    return open ? [] : [{ path: [...path, key], what: 'unknown', key, near: nearest(key, Object.keys(schema.properties ?? {})) }];
  });
  return [...missing, ...inner];
}

/** The wanted type when the value is of another. */
function typeFault(schema: Schema, value: unknown): string | undefined {
  if (schema['x-kubernetes-int-or-string']) return typeof value === 'string' || Number.isInteger(value) ? undefined : 'integer';
  switch (schema.type) {
    case 'string': return typeof value === 'string' ? undefined : schema.type;
    case 'boolean': return typeof value === 'boolean' ? undefined : schema.type;
    case 'integer': return Number.isInteger(value) ? undefined : schema.type;
    case 'number': return typeof value === 'number' ? undefined : schema.type;
    case 'array': return Array.isArray(value) ? undefined : schema.type;
    case 'object': return isObject(value) ? undefined : schema.type;
    default: return undefined;
  }
}

/** The known name that a mistyped one is nearest to, if it is near. */
function nearest(key: string, known: string[]): string | undefined {
  const ranked = known.map((name) => [distance(key.toLowerCase(), name.toLowerCase()), name] as const).sort(([a], [b]) => a - b);
  const [best] = ranked;
  return best && best[0] <= Math.max(2, Math.floor(key.length / 4)) ? best[1] : undefined;
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** What a key's value begins with, for completion. */
export function beginningOf(schema: Schema | undefined): 'block' | 'list' | 'value' {
  if (schema?.type === 'array') return 'list';
  return schema?.type === 'object' ? 'block' : 'value';
}
