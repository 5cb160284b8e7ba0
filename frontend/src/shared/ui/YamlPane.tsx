import { closeCompletion } from '@codemirror/autocomplete';
import { EditorView } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { pathAt } from '@/shared/yaml/parse';
import type { Path } from '@/shared/yaml/path';
import type { Draft } from '@/shared/yaml/draft';
import styles from './YamlPane.module.css';

/** The YAML side. It shows the draft's state and hands its own transactions back; `onCursor` says where the reader went. */
export function YamlPane({ draft, onCursor }: { draft: Draft; onCursor: (path: Path) => void }) {
  const place = useRef<HTMLDivElement>(null);
  const told = useRef(onCursor);
  useEffect(() => { told.current = onCursor; });
  useEffect(() => {
    if (!place.current) return;
    const view = new EditorView({
      state: draft.getState(), parent: place.current,
      dispatchTransactions: (transactions) => {
        for (const transaction of transactions) {
          draft.dispatch(transaction);
          if (transaction.selection && view.hasFocus && !transaction.docChanged) told.current(pathAt(draft.get().parsed, transaction.newSelection.main.head));
        }
      },
    });
    const stop = draft.show((transaction) => view.update([transaction]), () => view.focus());
    return () => {
      closeCompletion(view); // the draft outlives the page, an open list does not
      stop();
      view.destroy();
    };
  }, [draft]);
  return <div ref={place} className={styles['pane']} />;
}
