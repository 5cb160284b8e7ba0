import '@mantine/core/styles/NumberInput.layer.css';
import { NumberInput, TextInput } from '@mantine/core';
import { useWords } from '@/shared/hooks/useWords';
import type { Draft, Snapshot } from '@/shared/yaml/draft';
import { historyKeys } from '@/shared/yaml/keys';
import { formatPath, type Path, samePath } from '@/shared/yaml/path';
import type { EditorProblem } from '@/shared/yaml/problems';
import { valueAt } from '@/shared/yaml/value';
import styles from './Editor.module.css';
import { renamed } from './starts';
import { authorWords } from './words';

interface BasicFieldsProps {
  draft: Draft;
  snapshot: Snapshot;
  problems: readonly EditorProblem[];
  /** A saved object keeps its name and namespace. */
  saved: boolean;
}

const image: Path = ['spec', 'template', 'spec', 'containers', 0, 'image'];
const replicas: Path = ['spec', 'replicas'];
const plain = { autoComplete: 'off', spellCheck: false, autoCapitalize: 'off' } as const;

/** What differs from one workload to the next, as fields; they and the text are one document. */
export function BasicFields({ draft, snapshot, problems, saved }: BasicFieldsProps) {
  const words = useWords(authorWords);
  const { sound: { value }, parsed } = snapshot;
  const disabled = parsed.faults.length > 0;
  const containers = valueAt(value, image.slice(0, 4));
  const text = (path: Path) => {
    const held = valueAt(value, path);
    return typeof held === 'string' || typeof held === 'number' ? String(held) : '';
  };
  const field = (path: Path) => ({
    value: text(path), disabled, error: problems.find((one) => samePath(one.path, path))?.message.replace(`${formatPath(path)}: `, ''),
    onFocus: () => draft.lightUp(path), ...plain,
  });
  return (
    <div className={styles['form']} onKeyDown={(event) => historyKeys(event, draft)}>
      <div className={styles['line']}>
        <TextInput label={words.name} readOnly={saved} {...field(['metadata', 'name'])} onChange={(event) => draft.setAll(renamed(value, event.target.value))} />
        {text(['kind']) !== 'Namespace' && (
          <TextInput label={words.namespace} readOnly={saved} placeholder="default" {...field(['metadata', 'namespace'])} onChange={(event) => draft.set(['metadata', 'namespace'], event.target.value || undefined)} />
        )}
      </div>
      {saved && <p className="dim small">{words.fixedName}</p>}
      {Array.isArray(containers) && (
        <TextInput label={words.image} description={containers.length > 1 ? words.firstImage(containers.length) : undefined} {...field(image)} onChange={(event) => draft.set(image, event.target.value)} />
      )}
      {valueAt(value, replicas) !== undefined && (
        <NumberInput label={words.replicas} min={0} allowDecimal={false} {...field(replicas)} onChange={(next) => { if (next !== '' && typeof next === 'number') draft.set(replicas, next); }} />
      )}
      <p className="dim small">{disabled ? words.broken : words.formHint}</p>
    </div>
  );
}
