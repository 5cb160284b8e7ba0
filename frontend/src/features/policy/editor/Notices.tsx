import { Button } from '@mantine/core';
import { Link } from 'wouter';
import { useExplain } from '@/api/errors';
import { Said } from '@/api/said';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import type { FieldProblem } from '../types';
import styles from './PolicyEditor.module.css';
import type { EditSession } from './session';
import type { Editing } from './useEditing';
import { editorWords } from './words';

interface NoticesProps {
  session: EditSession;
  editing: Editing;
  gone: boolean;
  stale: boolean;
  owned: readonly FieldProblem[];
  force: boolean;
  onForce: (force: boolean) => void;
  merging: boolean;
  onMerge: () => void;
  failed: unknown;
}

/** What stands between the draft and saving it, each with the way on. */
export function Notices({ session, editing, gone, stale, owned, force, onForce, merging, onMerge, failed }: NoticesProps) {
  const words = useWords(editorWords);
  const explain = useExplain();
  const { dirty, may, exists, identity } = editing;
  return (
    <div className={styles['notices']}>
      {session.restored && dirty && <Notice tone="info" title={words.restored} />}
      {!may && <Notice tone="warn" title={words.needRole} />}
      {exists && <Notice tone="warn" title={words.faults.exists} action={<Link href={paths.policy(identity)}>{words.faults.openIt}</Link>} />}
      {gone && <Notice tone="warn" title={words.stale.gone} />}
      {stale && <Notice tone="warn" title={words.stale.title} action={<Button size="compact-sm" loading={merging} onClick={onMerge}>{words.stale.merge}</Button>}><p>{words.stale.text}</p></Notice>}
      {(owned.length > 0 || force) && (
        <Notice tone="warn" title={force ? words.owned.taking : words.owned.title} action={<Button variant="default" size="compact-sm" onClick={() => onForce(!force)}>{force ? words.owned.give : words.owned.take}</Button>}>
          {!force && <p>{words.owned.text}</p>}
          {!force && <ul className={styles['owned']}>{owned.map((one) => <li key={one.field}><code>{one.field}</code> <Said text={one.message} /></li>)}</ul>}
        </Notice>
      )}
      {failed ? <Notice explained={explain.error(failed)} /> : null}
    </div>
  );
}
