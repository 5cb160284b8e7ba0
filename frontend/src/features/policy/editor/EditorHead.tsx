import { ActionIcon, Button } from '@mantine/core';
import IconArrowBackUp from '@tabler/icons-react/dist/esm/icons/IconArrowBackUp.mjs';
import IconArrowForwardUp from '@tabler/icons-react/dist/esm/icons/IconArrowForwardUp.mjs';
import IconCode from '@tabler/icons-react/dist/esm/icons/IconCode.mjs';
import { Suspense, useState } from 'react';
import type { PolicyAt } from '@/app/paths';
import { useNarrow } from '@/shared/hooks/useNarrow';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { PageHead } from '@/shared/ui/PageHead';
import type { EditSession } from './session';
import type { Editing } from './useEditing';
import { editorWords } from './words';

const CodeDialog = part(() => import('./CodeDialog'));

/** What is edited, and what concerns it as a whole. */
export function EditorHead({ session: { draft }, editing, saved }: { session: EditSession; editing: Editing; saved: PolicyAt | undefined }) {
  const words = useWords(editorWords);
  const narrow = useNarrow();
  const [code, setCode] = useState(false);
  const { snapshot, identity } = editing;
  const title = saved ? words.editTitle(saved.name) : words.newTitle(identity.facts.kind);
  return (
    <>
      <title>{`${title} · Muster`}</title>
      <PageHead
        title={title}
        actions={<>
          <ActionIcon aria-label={words.undo} title={words.undo} disabled={!snapshot.canUndo} onClick={draft.undo}><IconArrowBackUp size={20} /></ActionIcon>
          <ActionIcon aria-label={words.redo} title={words.redo} disabled={!snapshot.canRedo} onClick={draft.redo}><IconArrowForwardUp size={20} /></ActionIcon>
          {narrow
            ? <ActionIcon variant="default" aria-label={words.asCode} title={words.asCode} onClick={() => setCode(true)}><IconCode size={20} /></ActionIcon>
            : <Button variant="default" leftSection={<IconCode size={16} />} onClick={() => setCode(true)}>{words.asCode}</Button>}
        </>}
      />
      {code && <Suspense><CodeDialog yaml={snapshot.text} identity={identity} onClose={() => setCode(false)} /></Suspense>}
    </>
  );
}
