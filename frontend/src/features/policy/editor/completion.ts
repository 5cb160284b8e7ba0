/** Completion and hover from the API's own schema, with the fleet's names where clusters are named. */
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import type { EditorView, Tooltip } from '@codemirror/view';
import { itemPlace, placeAt } from '@/shared/yaml/cursor';
import { locate, parse, pathAt } from '@/shared/yaml/parse';
import { formatPath, type Path } from '@/shared/yaml/path';
import { beginningOf, type Schema, schemaAt } from '@/shared/yaml/schema';

/** What the editor knows besides the text. It learns as answers come. */
export class Knowledge {
  schema: Schema | undefined;
  clusters: readonly string[] = [];
  readonly kinds: readonly { apiVersion: string; kind: string }[];

  constructor(kinds: readonly { apiVersion: string; kind: string }[]) {
    this.kinds = kinds;
  }

  learn(schema: Schema | undefined, clusters: readonly string[]): void {
    this.schema = schema;
    this.clusters = clusters;
  }
}

const clusterLists = ['clusterNames', 'exclude'];

/** The values that may stand at the path. */
function valuesAt(known: Knowledge, path: Path): Completion[] {
  const schema = schemaAt(known.schema, path);
  const last = path.at(-1);
  const field = typeof last === 'number' ? path.at(-2) : last;
  if (typeof last === 'number' && clusterLists.includes(String(field))) return known.clusters.map((label) => ({ label, type: 'constant' }));
  if (path[0] === 'spec' && path[1] === 'resourceSelectors') {
    const values = field === 'kind' ? known.kinds.map(({ kind, apiVersion }) => ({ label: kind, detail: apiVersion })) : field === 'apiVersion' ? [...new Set(known.kinds.map(({ apiVersion }) => apiVersion))].map((label) => ({ label })) : [];
    if (values.length > 0) return values.map((value) => ({ ...value, type: 'constant' }));
  }
  if (schema?.enum) return schema.enum.map((value) => ({ label: String(value), type: 'enum' }));
  return schema?.type === 'boolean' ? ['true', 'false'].map((label) => ({ label, type: 'keyword' })) : [];
}

function keysAt(known: Knowledge, path: Path, present: readonly string[], indent: string): Completion[] {
  const schema = schemaAt(known.schema, path);
  const required = schema?.required ?? [];
  return Object.entries(schema?.properties ?? {}).filter(([key]) => !present.includes(key)).map(([key, property]) => {
    const ends = { block: `:\n${indent}  `, list: `:\n${indent}- `, value: ': ' }[beginningOf(property)];
    return {
      label: key, type: 'property', detail: property.type, info: property.description, boost: required.includes(key) ? 1 : 0,
      apply: key + ends,
    };
  });
}

export function completer(known: Knowledge) {
  return (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString();
    const place = placeAt(text, context.pos);
    if (!place || (!context.explicit && place.from === context.pos && place.at === 'key')) return null;
    if (place.at === 'value') return result(place.from, valuesAt(known, place.path));
    const line = context.state.doc.lineAt(context.pos);
    const follows = line.text.slice(context.pos - line.from).trimStart();
    const item = itemPlace(text, context.pos);
    const values = item ? valuesAt(known, item.path) : [];
    const indent = ' '.repeat(place.from - line.from);
    const keys = keysAt(known, place.path, place.present, indent).map((option) => (follows ? { ...option, apply: option.label } : option));
    return result(place.from, [...keys, ...values]);
  };
}

function result(from: number, options: Completion[]): CompletionResult | null {
  return options.length > 0 ? { from, options, validFor: /^[\w./-]*$/ } : null;
}

/** Says of the key under the mouse what it is for. */
export function hover(known: Knowledge) {
  return (view: EditorView, offset: number): Tooltip | null => {
    const parsed = parse(view.state.doc.toString());
    const path = pathAt(parsed, offset);
    const key = locate(parsed.doc, path).pair?.key.range;
    const schema = schemaAt(known.schema, path);
    if (!key || offset < key[0] || offset > key[1] || !schema) return null;
    return { pos: key[0], end: key[1], above: true, create: () => ({ dom: card(path, schema) }) };
  };
}

function card(path: Path, schema: Schema): HTMLElement {
  const dom = document.createElement('div');
  dom.className = 'cm-card';
  const head = dom.appendChild(document.createElement('div'));
  head.className = 'cm-card-head';
  head.textContent = `${formatPath(path)}${schema.type ? ` · ${schema.type}` : ''}`;
  if (schema.enum) dom.appendChild(document.createElement('div')).textContent = schema.enum.join(' | ');
  if (schema.description) dom.appendChild(document.createElement('p')).textContent = schema.description;
  return dom;
}
