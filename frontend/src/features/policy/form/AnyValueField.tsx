import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import type { Path } from '@/shared/yaml/path';
import { equal } from '@/shared/yaml/value';
import { read, write } from './anyValue';
import { useField, useForm } from './context';
import { At } from './fields';
import { formWords } from './words';

/** A value of any type: a text as it stands, or JSON. What cannot be read stays in the field until it can. */
export function AnyValueField({ path, label }: { path: Path; label: string }) {
  const words = useWords(formWords);
  const { draft } = useForm();
  const { value, error, disabled } = useField<unknown>(path);
  const [typed, setTyped] = useState(() => write(value));
  const [bad, setBad] = useState(false);
  const [known, setKnown] = useState(value);
  // Changed from elsewhere, by the YAML side or by undo: show that.
  if (!equal(known, value)) {
    setKnown(value);
    const now = read(typed);
    if (!now.ok || !equal(now.value, value)) {
      setTyped(write(value));
      setBad(false);
    }
  }
  const change = (text: string) => {
    setTyped(text);
    const next = read(text);
    setBad(!next.ok);
    if (next.ok) draft.set(path, next.value);
  };
  return (
    <At path={path}>
      <TextInput label={label} placeholder={words.valueHint} error={bad ? words.badValue : error} disabled={disabled} classNames={{ input: 'mono' }} value={typed} onChange={(event) => change(event.target.value)} autoComplete="off" spellCheck={false} />
    </At>
  );
}
