/** Everything that is wrong with a draft, from the syntax to what the hub says, each with its place in the text. */
import type { Diagnostic } from '@codemirror/lint';
import { keyRange, lineOf, type Parsed, valueRange } from '../document/parse';
import { parsePath, type Path, samePath } from '../document/path';
import { type Fault, faultsOf, type Schema } from '../document/schema';
import type { FieldProblem } from '../types';
import type { EditorWords } from './words.en';

export interface EditorProblem {
  path: Path;
  message: string;
  severity: 'error' | 'warning';
  from: number;
  to: number;
  line: number;
}

function placed(parsed: Parsed, path: Path, message: string, ofKey = false): EditorProblem {
  const { from, to } = ofKey ? keyRange(parsed, path) : valueRange(parsed, path);
  return { path, message, severity: 'error', from, to: Math.max(to, from), line: lineOf(parsed, from) };
}

/** Faults of the syntax alone: while there are any, nothing else can be said. One slip makes several; a line's first says enough. */
export function syntaxProblems(parsed: Parsed): EditorProblem[] {
  const all = parsed.faults.map(({ from, to, message }) => ({ path: [], message, severity: 'error' as const, from, to: Math.min(to, parsed.text.length), line: lineOf(parsed, from) }) satisfies EditorProblem);
  return all.filter((problem, index) => all.findIndex((other) => other.line === problem.line) === index);
}

export function schemaProblems(parsed: Parsed, schema: Schema | undefined, words: EditorWords): EditorProblem[] {
  if (!schema || parsed.faults.length > 0) return [];
  return faultsOf(schema, parsed.value).map((fault) => placed(parsed, fault.path, sentence(fault, words.faults), fault.what === 'unknown'));
}

export function ownProblem(parsed: Parsed, path: Path, message: string): EditorProblem {
  return placed(parsed, path, message);
}

/** What the hub found; what the page found at the same place already is not said twice. */
export function hubProblems(parsed: Parsed, problems: readonly FieldProblem[], known: readonly EditorProblem[]): EditorProblem[] {
  if (parsed.faults.length > 0) return [];
  return problems.map(({ field, message }) => placed(parsed, parsePath(field), field ? `${field}: ${message}` : message)).filter((problem) => !known.some((other) => samePath(other.path, problem.path)));
}

function sentence(fault: Fault, words: EditorWords['faults']): string {
  switch (fault.what) {
    case 'unknown': return fault.near ? words.near(fault.key, fault.near) : words.unknown(fault.key);
    case 'missing': return words.missing(fault.key);
    case 'type': return words.type(fault.wanted);
    case 'enum': return words.enum(fault.allowed.join(', '));
    case 'least': return words.least(fault.bound);
    case 'most': return words.most(fault.bound);
    case 'items': return words.items(fault.bound);
  }
}

export function diagnosticsOf(problems: readonly EditorProblem[], length: number): Diagnostic[] {
  return problems.map(({ from, to, message, severity }) => ({ from: Math.min(from, length), to: Math.min(Math.max(to, from), length), message, severity }));
}
