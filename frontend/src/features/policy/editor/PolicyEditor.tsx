import { useMutation, useQuery } from '@tanstack/react-query';
import { useCallback, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { ApiError } from '@/api/client';
import { useExplain } from '@/api/errors';
import { type PolicyAt, paths } from '@/app/paths';
import { useUnsaved } from '@/shared/hooks/useUnsaved';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import { ProblemList } from '@/shared/ui/ProblemList';
import { TabBar } from '@/shared/ui/TabBar';
import { YamlPane } from '@/shared/ui/YamlPane';
import { historyKeys } from '@/shared/yaml/keys';
import { lineOf } from '@/shared/yaml/parse';
import { formatPath, type Path } from '@/shared/yaml/path';
import type { KindFacts } from '../kinds';
import { PreviewPane } from '../PreviewPane';
import { policyDetail, readPolicy, savePolicy } from '../queries';
import type { PolicyDetail } from '../types';
import { usePreviewTopics } from '../usePreviewTopics';
import { FormPane } from './FormPane';
import { EditorHead } from './EditorHead';
import { MergeView } from './MergeView';
import { Notices } from './Notices';
import styles from './PolicyEditor.module.css';
import { SaveBar } from './SaveBar';
import { type Base, baseOf, closeSession, type EditSession, rebase } from './session';
import { useEditing } from './useEditing';
import { editorWords } from './words';

const panes = ['form', 'yaml', 'preview'] as const;
type Pane = typeof panes[number];

/** The three sides of one policy: its form, its text, and what it will do. */
export function PolicyEditor({ session, opened, saved }: { session: EditSession; opened: KindFacts; saved: PolicyAt | undefined }) {
  const words = useWords(editorWords);
  const explain = useExplain();
  const [, navigate] = useLocation();
  const [base, setBaseState] = useState(session.base);
  const [force, setForce] = useState(false);
  const [pane, setPane] = useState<Pane>('form');
  const [theirs, setTheirs] = useState<PolicyDetail>();
  usePreviewTopics();
  const editing = useEditing({ session, base, opened, saved, force });
  const { draft } = session;
  const at = saved ?? editing.identity;
  const row = useQuery({ ...policyDetail(at, false), enabled: saved !== undefined });
  const save = useMutation(savePolicy(at));
  const form = useRef<HTMLDivElement>(null);
  useUnsaved(editing.dirty);

  const setBase = (next: Base) => {
    rebase(session, next);
    setBaseState(next);
  };
  const gone = saved !== undefined && row.error instanceof ApiError && row.error.status === 404;
  const moved = !gone && base.resourceVersion !== undefined && row.data !== undefined && row.data.resourceVersion !== base.resourceVersion && !save.isSuccess;
  const refused = save.error instanceof ApiError ? save.error : editing.refusal;
  const stale = moved || (refused?.code === 'stale' && !gone);
  const leave = (href: string) => {
    closeSession(session.key);
    navigate(href);
  };
  const write = () => save.mutate({ yaml: draft.get().text, resourceVersion: gone ? undefined : base.resourceVersion, force }, { onSuccess: () => leave(paths.policy(at)) });
  const merge = useMutation({ mutationFn: () => readPolicy(at), onSuccess: setTheirs });
  const fault = editing.broken;
  const lightField = useCallback((path: Path) => { if (form.current) light(form.current, path); }, []);

  if (theirs) {
    return (
      <MergeView
        base={base.yaml} mine={draft.get().text} theirs={theirs.yaml} name={at.name} onCancel={() => setTheirs(undefined)}
        onTake={(text) => {
          draft.replace(text);
          setBase(baseOf(theirs));
          save.reset();
          void row.refetch();
          setTheirs(undefined);
        }}
      />
    );
  }
  return (
    <div className={styles['editor']}>
      <EditorHead session={session} editing={editing} saved={saved} />
      <Notices
        session={session} editing={editing} gone={gone} stale={stale} owned={refused?.code === 'owned' ? refused.fields : []} force={force} onForce={setForce}
        merging={merge.isPending} onMerge={() => merge.mutate()}
        failed={merge.error ?? (save.error instanceof ApiError && (save.error.code === 'stale' || save.error.code === 'owned') ? undefined : save.error)}
      />
      <div className={styles['tabs']}><TabBar label={words.panesLabel} panel="side" chosen={pane} tabs={panes.map((key) => ({ key, label: words.panes[key] }))} onChoose={(key) => setPane(key as Pane)} /></div>
      <div className={styles['panes']} id="side" data-pane={pane}>
        <section className={styles['form']} aria-label={words.panes.form} onKeyDown={(event) => historyKeys(event, draft)}>
          <div className={styles['title']} data-broken={fault !== undefined || undefined}>
            <h2>{words.panes.form}</h2>
            {fault && <button type="button" onClick={() => { setPane('yaml'); draft.goTo(fault.from); }}>{words.broken(lineOf(editing.snapshot.parsed, fault.from))}</button>}
          </div>
          <div ref={form} className={styles['scroll']}><FormPane draft={draft} editing={editing} saved={saved !== undefined} /></div>
        </section>
        <section className={styles['yaml']} aria-label={words.panes.yaml}>
          <div className={styles['title']}><h2>{words.panes.yaml}</h2></div>
          <div className={styles['text']}><YamlPane draft={draft} onCursor={lightField} /></div>
          <ProblemList problems={editing.problems} onGo={(problem) => { setPane('yaml'); draft.goTo(problem.from); }} />
        </section>
        <section className={styles['preview']} aria-label={words.panes.preview}>
          <div className={styles['title']}><h2>{words.panes.preview}</h2></div>
          <div className={styles['answer']} aria-live="polite">
            <PreviewPane
              preview={editing.preview.data} stale={!editing.fresh} override={editing.identity.facts.family === 'override'}
              failed={editing.preview.error && !editing.preview.isFetching ? <Notice explained={explain.error(editing.preview.error)} /> : null}
            />
          </div>
        </section>
      </div>
      <SaveBar editing={editing} saved={saved !== undefined} blocked={stale || (refused?.code === 'owned' && !force)} saving={save.isPending} onSave={write} onDiscard={() => leave(saved ? paths.policy(saved) : paths.policies())} />
    </div>
  );
}

/** Lights the field that holds the path, or the nearest that holds its parent, and brings it into sight. */
function light(form: HTMLElement, path: Path): void {
  form.querySelectorAll('[data-lit]').forEach((lit) => lit.removeAttribute('data-lit'));
  for (let length = path.length; length > 1; length--) {
    const field = form.querySelector(`[data-path="${CSS.escape(formatPath(path.slice(0, length)))}"]`);
    if (!field) continue;
    field.setAttribute('data-lit', '');
    field.scrollIntoView({ block: 'nearest' });
    return;
  }
}
