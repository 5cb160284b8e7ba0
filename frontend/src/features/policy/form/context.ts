/** What every field of the form shares: the one document, and what is known of the fleet. */
import { createContext, useContext } from 'react';
import type { Cluster } from '@/api/model';
import { formatPath, type Path, samePath } from '@/shared/yaml/path';
import { valueAt } from '@/shared/yaml/value';
import type { Draft } from '@/shared/yaml/draft';
import type { EditorProblem } from '@/shared/yaml/problems';

export interface FormState {
  draft: Draft;
  /** What the document says, as of the last time it could be read. */
  value: unknown;
  /** The document cannot be read now. */
  disabled: boolean;
  /** The policy is saved: what names it stays. */
  saved: boolean;
  problems: readonly EditorProblem[];
  clusters: readonly Cluster[];
}

const Context = createContext<FormState | undefined>(undefined);

export const FormProvider = Context.Provider;

export function useForm(): FormState {
  const form = useContext(Context);
  if (!form) throw new Error('a field outside of the form');
  return form;
}

/** One value of the document. Setting it to undefined or an empty text takes it away, with parents left empty, up to the one to keep. */
export function useField<T>(path: Path, keep?: Path): { value: T | undefined; set: (next: T | undefined) => void; error: string | undefined; disabled: boolean; name: string } {
  const { draft, value, problems, disabled } = useForm();
  const problem = problems.find((one) => one.severity === 'error' && samePath(one.path, path));
  return {
    value: valueAt(value, path) as T | undefined,
    set: (next) => (next === undefined || next === '' ? draft.clear(path, keep) : draft.set(path, next)),
    error: problem?.message,
    disabled,
    name: formatPath(path),
  };
}

/** A list of the document; an entry that is not what it should be shows as empty fields. */
export function useList<T = Record<string, unknown>>(path: Path, keep?: Path): { items: T[]; add: (item: T) => void; remove: (index: number) => void; disabled: boolean } {
  const { draft, value, disabled } = useForm();
  const held = valueAt(value, path);
  const items = Array.isArray(held) ? (held as T[]) : [];
  return {
    items,
    add: (item) => draft.set(path, [...items, item]),
    remove: (index) => (items.length === 1 ? draft.clear(path, keep) : draft.set(path, items.toSpliced(index, 1))),
    disabled,
  };
}
