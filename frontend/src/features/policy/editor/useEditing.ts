/** One draft and all that is asked of the hub about it: what is wrong with it, and what it would do. */
import { setDiagnostics } from '@codemirror/lint';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { ApiError } from '@/api/client';
import { useSay } from '@/api/said';
import { useMay } from '@/api/session';
import type { PolicyAt } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { uiWords } from '@/shared/ui/words';
import { parse } from '@/shared/yaml/parse';
import { diagnosticsOf, type EditorProblem, hubProblems, problemAt, syntaxProblems } from '@/shared/yaml/problems';
import type { KindFacts } from '../kinds';
import { dryRun, fleet, policyExists, policySchema, preview as previewOf } from '../queries';
import type { FieldProblem } from '../types';
import { identityOf, sameIdentity } from './identity';
import { choiceProblems, schemaProblems } from './problems';
import type { Base, EditSession } from './session';
import { editorWords } from './words';

const pause = 250;
const longPause = 600;
/** Half a word is a fault of the syntax: the form does not flinch at every letter. */
const patience = 1_000;

export interface EditingOptions {
  session: EditSession;
  base: Base;
  opened: KindFacts;
  /** The saved policy; undefined for a new one. */
  saved: PolicyAt | undefined;
  force: boolean;
}

export function useEditing({ session, base, opened, saved, force }: EditingOptions) {
  const words = useWords(editorWords);
  const faults = useWords(uiWords).yamlFaults;
  const say = useSay();
  const may = useMay('operator');
  const { draft, known } = session;
  const snapshot = useSyncExternalStore(draft.watch, draft.get);
  const { text, parsed, sound } = snapshot;
  const [asked] = useDebouncedValue(text, pause);
  const [settled] = useDebouncedValue(text, longPause);
  const [late] = useDebouncedValue(parsed, patience);
  const broken = parsed.faults[0] && late.faults[0] ? parsed.faults[0] : undefined;
  const identity = useMemo(() => identityOf(sound.value, opened), [sound, opened]);
  const { data: schema } = useQuery(policySchema(identity.resource));
  const { data: clusters = [] } = useQuery(fleet);
  const exists = useQuery(policyExists(identity, !saved && text === settled)).data === true;
  useEffect(() => known.learn(schema, clusters.map((cluster) => cluster.name)), [known, schema, clusters]);

  const before = useMemo(() => (saved ? parse(base.yaml).value : undefined), [saved, base]);

  const own = useMemo(() => {
    const list = [...syntaxProblems(parsed, faults), ...schemaProblems(parsed, schema, words)];
    if (parsed.faults.length > 0) return list;
    if (!identity.known) return [...list, problemAt(parsed, ['kind'], words.faults.wrongKind)];
    if (!identity.name && !list.some((problem) => problem.path.join('.') === 'metadata')) list.push(problemAt(parsed, ['metadata', 'name'], words.faults.noName));
    if (saved && !sameIdentity(identity, saved)) list.push(problemAt(parsed, ['metadata', 'name'], words.faults.renamed));
    if (exists) list.push(problemAt(parsed, ['metadata', 'name'], words.faults.exists));
    return [...list, ...choiceProblems(parsed, before, words)];
  }, [parsed, schema, words, faults, identity, saved, before, exists]);

  const readable = parsed.faults.length === 0;
  const preview = useQuery(previewOf(asked, readable && identity.known));
  const fresh = asked === text && !preview.isPlaceholderData && preview.data !== undefined;
  const dirty = text !== base.yaml;
  // The preview judges as saving does and refuses nothing; the dry run is worth its refusals only after it.
  const judged = fresh && preview.data?.valid === true && own.length === 0;
  const trial = useQuery(dryRun(saved ?? identity, { yaml: settled, resourceVersion: base.resourceVersion, force }, may && judged && dirty && settled === text));
  const refusal = trial.error instanceof ApiError && settled === text && judged ? trial.error : undefined;

  const problems = useMemo<EditorProblem[]>(() => {
    const told: FieldProblem[] = fresh ? preview.data?.problems ?? [] : [];
    const conflict = refusal?.code === 'stale' || refusal?.code === 'owned';
    const refused: FieldProblem[] = !refusal || conflict || refusal.status === 403 || refusal.status === 0 ? [] : refusal.fields.length > 0 ? refusal.fields : [{ field: '', message: refusal.detail || words.refused }];
    const said = [...told, ...refused].map((one) => ({ ...one, message: say(one.message) }));
    return [...own, ...hubProblems(parsed, said, own)].sort((a, b) => a.from - b.from);
  }, [own, parsed, fresh, preview.data, refusal, words, say]);

  useEffect(() => draft.change(setDiagnostics(draft.getState(), diagnosticsOf(problems, draft.getState().doc.length))), [draft, problems]);

  return { snapshot, broken, identity, clusters, problems, preview, fresh, dirty, may, exists, refusal, checking: !fresh || trial.isFetching };
}

export type Editing = ReturnType<typeof useEditing>;
