import { ActionIcon, Button } from '@mantine/core';
import IconArrowBackUp from '@tabler/icons-react/dist/esm/icons/IconArrowBackUp.mjs';
import IconArrowForwardUp from '@tabler/icons-react/dist/esm/icons/IconArrowForwardUp.mjs';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useLocation } from 'wouter';
import { ApiError } from '@/api/client';
import { paths } from '@/app/paths';
import { useUnsaved } from '@/shared/hooks/useUnsaved';
import { useWords } from '@/shared/hooks/useWords';
import { DiscardDialog } from '@/shared/ui/DiscardDialog';
import { PageHead } from '@/shared/ui/PageHead';
import { ProblemList } from '@/shared/ui/ProblemList';
import { uiWords } from '@/shared/ui/words';
import { YamlPane } from '@/shared/ui/YamlPane';
import { valueAt } from '@/shared/yaml/value';
import type { WorkloadKey } from '../queries';
import type { WorkloadWritten } from '../types';
import { BasicFields } from './BasicFields';
import styles from './Editor.module.css';
import { Notices } from './Notices';
import { save as saveOf } from './queries';
import { closeSession, type EditSession } from './session';
import { useWriting } from './useWriting';
import { authorWords } from './words';

interface WorkloadEditorProps {
  title: string;
  session: EditSession;
  saved: WorkloadKey | undefined;
  /** Reads what the hub has now. */
  newest?: () => Promise<string | undefined>;
  above?: ReactNode;
  back: string;
}

const nothing = () => undefined;

/** One object of the hub: its fields that matter most, its text, and what the hub says to it before it is saved. */
export function WorkloadEditor({ title, session, saved, newest, above, back }: WorkloadEditorProps) {
  const words = useWords(authorWords);
  const ui = useWords(uiWords);
  const [, navigate] = useLocation();
  const [base, setBase] = useState(session.base);
  const [force, setForce] = useState(false);
  const [asking, setAsking] = useState(false);
  const { draft } = session;
  const writing = useWriting(session, base, saved, force);
  const save = useMutation(saveOf(saved));
  const renew = useMutation({ mutationFn: async () => newest?.() });
  const { snapshot, dirty, problems, may } = writing;
  useUnsaved(dirty);
  const leave = (href: string) => {
    closeSession(session.key);
    navigate(href);
  };
  const write = () => save.mutate({ yaml: snapshot.text, base, force }, { onSuccess: (written) => leave(placeOf(written)) });
  const takeNewest = () => renew.mutate(undefined, {
    onSuccess: (text) => {
      if (text === undefined) return;
      // One step of the history: what was typed comes back by undo.
      draft.replace(text);
      session.base = text;
      setBase(text);
      save.reset();
    },
  });
  const failed = save.error instanceof ApiError ? save.error : undefined;
  const refusal = writing.refusal ?? failed;
  const idle = saved !== undefined && !dirty;
  return (
    <div className="page">
      <title>{`${title} · Muster`}</title>
      <PageHead
        title={title}
        actions={<>
          <ActionIcon aria-label={words.undo} title={words.undo} disabled={!snapshot.canUndo} onClick={draft.undo}><IconArrowBackUp size={20} /></ActionIcon>
          <ActionIcon aria-label={words.redo} title={words.redo} disabled={!snapshot.canRedo} onClick={draft.redo}><IconArrowForwardUp size={20} /></ActionIcon>
        </>}
      />
      {above}
      <Notices
        writing={writing} restored={session.restored} refusal={refusal} failed={save.error && !failed ? save.error : renew.error} force={force} onForce={setForce}
        onNewest={takeNewest} loading={renew.isPending} existing={existingOf(snapshot.sound.value)}
      />
      <div className={styles['panes']}>
        <BasicFields draft={draft} snapshot={snapshot} problems={problems} saved={saved !== undefined} />
        <div className={styles['yaml']}>
          <div className={styles['text']}><YamlPane draft={draft} onCursor={nothing} /></div>
          <ProblemList problems={problems} onGo={(problem) => draft.goTo(problem.from)} />
        </div>
      </div>
      <div className={styles['bar']}>
        <Button variant="default" onClick={() => (dirty ? setAsking(true) : leave(back))}>{dirty ? ui.discard : words.back}</Button>
        <Button disabled={!may || idle || !writing.good || problems.length > 0} loading={save.isPending} title={may ? undefined : words.needRole} onClick={write}>
          <span aria-live="polite">{labelOf()}</span>
        </Button>
      </div>
      {asking && <DiscardDialog onKeep={() => setAsking(false)} onDiscard={() => leave(back)} />}
    </div>
  );

  function labelOf(): string {
    if (idle) return words.unchanged;
    if (problems.length > 0) return words.faulty;
    if (writing.checking) return words.checking;
    return saved ? words.save : words.create(String(valueAt(snapshot.sound.value, ['kind']) ?? ''));
  }
}

/** Where a written object is seen; what has no page until a policy holds it goes to its first policy. */
function placeOf(written: WorkloadWritten): string {
  return written.listed ? paths.workload(written) : paths.newPolicyFor(written);
}

/** The page that an object of this name has. */
function existingOf(value: unknown): string | undefined {
  const text = (key: string) => { const held = valueAt(value, key.split('.')); return typeof held === 'string' ? held : ''; };
  const kind = text('kind');
  const name = text('metadata.name');
  return kind && name ? paths.workload({ apiVersion: text('apiVersion'), kind, namespace: kind === 'Namespace' ? '' : text('metadata.namespace') || 'default', name }) : undefined;
}
