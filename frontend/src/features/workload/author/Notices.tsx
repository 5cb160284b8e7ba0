import { Button } from '@mantine/core';
import { Link } from 'wouter';
import type { ApiError } from '@/api/client';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import styles from './Editor.module.css';
import { authorWords } from './words';
import type { Writing } from './useWriting';

interface NoticesProps {
  writing: Writing;
  restored: boolean;
  /** Why saving, or the try before it, was refused, when it was not for a field of the text. */
  refusal: ApiError | undefined;
  failed: unknown;
  force: boolean;
  onForce: (force: boolean) => void;
  onNewest: () => void;
  loading: boolean;
  /** The page of the object of this name, when there is one. */
  existing: string | undefined;
}

/** What stands between the draft and saving it, each with the way on. Nothing of it touches what was typed. */
export function Notices({ writing, restored, refusal, failed, force, onForce, onNewest, loading, existing }: NoticesProps) {
  const words = useWords(authorWords);
  const explain = useExplain();
  const stale = refusal?.code === 'stale' && refusal.fields.length > 0;
  const other = failed ?? (refusal && !stale && refusal.code !== 'exists' && ![400, 422].includes(refusal.status) ? refusal : undefined);
  return (
    <div className={styles['notices']}>
      {restored && writing.dirty && <Notice tone="info" title={words.restored} />}
      {!writing.may && <Notice tone="warn" title={words.needRole} />}
      {refusal?.code === 'exists' && <Notice tone="warn" title={words.exists} action={existing && <Link href={existing}>{words.openIt}</Link>}>{words.existsText}</Notice>}
      {stale && (
        <Notice
          tone="warn" title={words.stale.title}
          action={<><Button size="compact-sm" variant="default" loading={loading} onClick={onNewest}>{words.stale.newest}</Button> <Button size="compact-sm" onClick={() => onForce(true)}>{words.stale.overwrite}</Button></>}
        >
          <p>{words.stale.text}</p>
          <ul className={styles['fields']}>{refusal.fields.map((one) => <li key={one.field}><code>{one.field}</code></li>)}</ul>
        </Notice>
      )}
      {force && <Notice tone="warn" title={words.stale.forced} action={<Button size="compact-sm" variant="default" onClick={() => onForce(false)}>{words.stale.giveBack}</Button>} />}
      {other ? <Notice explained={explain.error(other)} /> : null}
    </div>
  );
}
