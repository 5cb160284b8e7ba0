import '@mantine/core/styles/Popover.layer.css';
import '@mantine/core/styles/ScrollArea.layer.css';
import '@mantine/core/styles/Combobox.layer.css';
import '@mantine/core/styles/Pill.layer.css';
import '@mantine/core/styles/PillsInput.layer.css';
import '@mantine/core/styles/InlineInput.layer.css';
import '@mantine/core/styles/Checkbox.layer.css';
import { Autocomplete, Checkbox, NativeSelect, TagsInput, Textarea, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { formatPath, type Path } from '@/shared/yaml/path';
import { useField, useForm } from './context';
import styles from './fields.module.css';
import { formWords } from './words';

/** Ties what is inside to its lines: going there lights them, and going to the lines lights this. */
export function At({ path, className, children }: { path: Path; className?: string; children: ReactNode }) {
  const { draft } = useForm();
  return (
    <div className={className} data-path={formatPath(path)} onFocus={(event) => { event.stopPropagation(); draft.lightUp(path); }}>
      {children}
    </div>
  );
}

interface FieldProps {
  path: Path;
  label: string;
  note?: string;
  placeholder?: string;
  className?: string;
}

const tags = { inputField: styles['tag'] ?? '' };
const plain = { autoComplete: 'off', spellCheck: false } as const;

export function TextField({ path, label, note, placeholder, className, fixed = false }: FieldProps & { fixed?: boolean }) {
  const { value, set, error, disabled } = useField<string>(path);
  return (
    <At path={path} className={className}>
      <TextInput label={label} description={note} placeholder={placeholder} error={error} disabled={disabled} readOnly={fixed} value={text(value)} onChange={(event) => set(event.target.value)} {...plain} />
    </At>
  );
}

/** A text with suggestions; `take` may set more than the text. */
export function SuggestField({ path, label, note, placeholder, className, options, take }: FieldProps & { options: readonly string[]; take?: (value: string) => void }) {
  const { value, set, error, disabled } = useField<string>(path);
  return (
    <At path={path} className={className}>
      <Autocomplete label={label} description={note} placeholder={placeholder} error={error} disabled={disabled} value={text(value)} data={[...new Set(options)]} limit={40} onChange={take ?? set} {...plain} />
    </At>
  );
}

export function NumberField({ path, label, note, placeholder, className, least }: FieldProps & { least?: number }) {
  const { value, set, error, disabled } = useField<number>(path);
  return (
    <At path={path} className={className}>
      <TextInput
        type="number" inputMode="numeric" min={least} label={label} description={note} placeholder={placeholder} error={error} disabled={disabled} value={text(value)}
        onChange={(event) => set(event.target.value === '' || Number.isNaN(event.target.valueAsNumber) ? undefined : event.target.valueAsNumber)} autoComplete="off"
      />
    </At>
  );
}

/** One of a few; the empty key takes the value away. `take` may set more than the value. */
export function SelectField({ path, label, note, className, options, take }: FieldProps & { options: readonly (readonly [key: string, label: string])[]; take?: (value: string) => void }) {
  const { value, set, error, disabled } = useField<string>(path);
  const held = text(value);
  const known = options.some(([key]) => key === held);
  return (
    <At path={path} className={className}>
      <NativeSelect label={label} description={note} error={error} disabled={disabled} value={held} onChange={(event) => (take ?? set)(event.target.value)}>
        {!known && <option value={held}>{held}</option>}
        {options.map(([key, shown]) => <option key={key} value={key}>{shown}</option>)}
      </NativeSelect>
    </At>
  );
}

/** True or absent. */
export function CheckField({ path, label, on = true }: FieldProps & { on?: unknown }) {
  const { value, set, error, disabled } = useField<unknown>(path);
  return (
    <At path={path}>
      <Checkbox label={label} error={error} disabled={disabled} checked={value === on} onChange={(event) => set(event.target.checked ? on : undefined)} />
    </At>
  );
}

/** Pills: what may be chosen, and the parent that stays when the last one goes. */
interface PillsProps extends FieldProps {
  options?: readonly string[];
  keep?: Path;
}

/** A list of texts as pills. */
export function TagsField({ path, label, note, placeholder, className, options = [], keep }: PillsProps) {
  const { value, set, error, disabled } = useField<unknown>(path, keep);
  const held = Array.isArray(value) ? value.map(String) : [];
  return (
    <At path={path} className={className}>
      <TagsInput classNames={tags} label={label} description={note} placeholder={held.length > 0 ? '' : placeholder} error={error} disabled={disabled} value={held} data={[...new Set(options)]} limit={60} onChange={(next) => set(next.length > 0 ? next : undefined)} {...plain} />
    </At>
  );
}

/** A map of texts as pills that read key=value. */
export function PairsField({ path, label, note, className, options = [], keep }: PillsProps) {
  const words = useWords(formWords);
  const { value, set, error, disabled } = useField<Record<string, unknown>>(path, keep);
  const [bad, setBad] = useState(false);
  const held = Object.entries(value ?? {}).map(([key, one]) => `${key}=${String(one ?? '')}`);
  const change = (next: string[]) => {
    const good = next.filter((pair) => /^[^=\s]+=/.test(pair));
    setBad(good.length < next.length);
    const pairs = Object.fromEntries(good.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
    set(Object.keys(pairs).length > 0 ? pairs : undefined);
  };
  return (
    <At path={path} className={className}>
      <TagsInput classNames={tags} label={label} description={note} placeholder={held.length > 0 ? '' : words.labelsHint} error={bad ? words.badLabel : error} disabled={disabled} value={held} data={[...new Set(options)]} limit={60} onChange={change} {...plain} />
    </At>
  );
}

/** A list of texts, one a line, for texts that may hold commas and blanks. */
export function LinesField({ path, label, note, className }: FieldProps) {
  const { value, set, error, disabled } = useField<unknown>(path);
  const lines = Array.isArray(value) ? value.map(String) : [];
  return (
    <At path={path} className={className}>
      <Textarea
        label={label} description={note} error={error} disabled={disabled} autosize minRows={1} maxRows={8} classNames={{ input: 'mono' }} value={lines.join('\n')}
        onChange={(event) => set(event.target.value === '' ? undefined : event.target.value.split('\n'))} {...plain}
      />
    </At>
  );
}

function text(value: unknown): string {
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}
