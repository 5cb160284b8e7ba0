/** What is wrong with a text, from its syntax to what the hub says, each with its place. */
import type { Diagnostic } from '@codemirror/lint';
import { keyRange, lineOf, type Parsed, valueRange } from './parse';
import { parsePath, type Path, samePath } from './path';

export interface EditorProblem {
  path: Path;
  message: string;
  severity: 'error' | 'warning';
  from: number;
  to: number;
  line: number;
}

/** A fault of one field; `ofKey` marks the field's name instead of its value. */
export function problemAt(parsed: Parsed, path: Path, message: string, ofKey = false): EditorProblem {
  const { from, to } = ofKey ? keyRange(parsed, path) : valueRange(parsed, path);
  return { path, message, severity: 'error', from, to: Math.max(to, from), line: lineOf(parsed, from) };
}

/** Faults of the syntax alone: while there are any, nothing else can be said. One slip makes several; a line's first says enough. */
export function syntaxProblems(parsed: Parsed, words: Record<string, string>): EditorProblem[] {
  const all = parsed.faults.map(({ from, to, message, code = '' }) => ({ path: [], message: words[code] ?? message, severity: 'error' as const, from, to: Math.min(to, parsed.text.length), line: lineOf(parsed, from) }) satisfies EditorProblem);
  return all.filter((problem, index) => all.findIndex((other) => other.line === problem.line) === index);
}

/** What the hub found; what the page found at the same place already is not said twice. */
export function hubProblems(parsed: Parsed, problems: readonly { field: string; message: string }[], known: readonly EditorProblem[]): EditorProblem[] {
  if (parsed.faults.length > 0) return [];
  return problems.map(({ field, message }) => problemAt(parsed, parsePath(field), field ? `${field}: ${message}` : message)).filter((problem) => !known.some((other) => samePath(other.path, problem.path)));
}

export function diagnosticsOf(problems: readonly EditorProblem[], length: number): Diagnostic[] {
  return problems.map(({ from, to, message, severity }) => ({ from: Math.min(from, length), to: Math.min(Math.max(to, from), length), message, severity }));
}
