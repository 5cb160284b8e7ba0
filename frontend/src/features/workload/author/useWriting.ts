/** One draft of a workload and what the hub says to it. */
import { setDiagnostics } from '@codemirror/lint';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { ApiError } from '@/api/client';
import { useSay } from '@/api/said';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { uiWords } from '@/shared/ui/words';
import { diagnosticsOf, type EditorProblem, hubProblems, syntaxProblems } from '@/shared/yaml/problems';
import type { WorkloadKey } from '../queries';
import { trial } from './queries';
import type { EditSession } from './session';

const pause = 500;

export function useWriting(session: EditSession, base: string, saved: WorkloadKey | undefined, force: boolean) {
  const words = useWords(uiWords).yamlFaults;
  const say = useSay();
  const may = useMay('operator');
  const { draft } = session;
  const snapshot = useSyncExternalStore(draft.watch, draft.get);
  const { text, parsed } = snapshot;
  const [settled] = useDebouncedValue(text, pause);
  const readable = parsed.faults.length === 0;
  const dirty = text !== base;
  const wanted = may && readable && (!saved || dirty);
  const answer = useQuery(trial(saved, { yaml: settled, base, force }, wanted && settled === text));
  const current = wanted && settled === text && !answer.isFetching;
  const refusal = current && answer.error instanceof ApiError ? answer.error : undefined;
  const fields = refusal && [400, 422].includes(refusal.status) ? refusal : undefined;

  const problems = useMemo<EditorProblem[]>(() => {
    const own = syntaxProblems(parsed, words);
    const told = fields ? (fields.fields.length > 0 ? fields.fields : [{ field: '', message: fields.detail }]) : [];
    return [...own, ...hubProblems(parsed, told.map((one) => ({ ...one, message: say(one.message) })), own)].sort((a, b) => a.from - b.from);
  }, [parsed, fields, words, say]);
  useEffect(() => draft.change(setDiagnostics(draft.getState(), diagnosticsOf(problems, draft.getState().doc.length))), [draft, problems]);

  return { snapshot, problems, may, dirty, refusal, good: current && answer.isSuccess, checking: wanted && !current };
}

export type Writing = ReturnType<typeof useWriting>;
