import { useWords } from '@/shared/hooks/useWords';
import { formatPath, type Path } from '@/shared/yaml/path';
import { isObject, valueAt } from '@/shared/yaml/value';
import { useForm } from './context';
import styles from './Form.module.css';
import { formWords } from './words';

/** Names what the document sets and the form has no field for; each leads to its line. */
export function OtherFields({ shown, inside = {} }: { shown: readonly string[]; inside?: Record<string, readonly string[]> }) {
  const words = useWords(formWords);
  const { draft, value } = useForm();
  const spec = valueAt(value, ['spec']);
  const keys = (held: unknown) => (isObject(held) ? Object.keys(held) : []);
  const others: Path[] = [
    ...keys(spec).filter((key) => !shown.includes(key)).map((key) => ['spec', key]),
    ...Object.entries(inside).flatMap(([part, known]) => keys(valueAt(spec, [part])).filter((key) => !known.includes(key)).map((key) => ['spec', part, key])),
  ];
  if (others.length === 0) return null;
  return (
    <p className={styles['others']}>
      <span className="dim">{words.others}</span>
      {others.map((path) => <button key={formatPath(path)} type="button" className={styles['other']} onClick={() => draft.lightUp(path)}>{formatPath(path)}</button>)}
    </p>
  );
}
