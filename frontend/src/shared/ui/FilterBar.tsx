import IconFilter from '@tabler/icons-react/dist/esm/icons/IconFilter.mjs';
import IconX from '@tabler/icons-react/dist/esm/icons/IconX.mjs';
import { type KeyboardEvent, useId, useRef } from 'react';
import { useText } from '@/shared/hooks/useText';
import { useWords } from '@/shared/hooks/useWords';
import styles from './FilterBar.module.css';
import { uiWords } from './words';

export type Filter = Record<string, string>;

interface FilterBarProps {
  label: string;
  placeholder: string;
  /** The fields that "field:value" may name, with the values to suggest. */
  fields: Record<string, readonly string[]>;
  /** The fields that have no other values than these. */
  closed?: readonly string[];
  /** Field values, and the free text under the name `free`. */
  value: Filter;
  free?: string;
  onChange: (value: Filter) => void;
}

/** One line for all filters: free text filters as it is typed, "field:value" and Space or Enter makes a chip. */
export function FilterBar({ label, placeholder, fields, closed = [], value, free = 'q', onChange }: FilterBarProps) {
  const words = useWords(uiWords);
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const chips = Object.keys(fields).filter((field) => value[field]);
  const without = (field: string) => Object.fromEntries(Object.entries(value).filter(([key]) => key !== field));
  const [text, setText] = useText(value[free] ?? '', (typed) => {
    if (!pendingChip(typed, fields)) onChange(typed ? { ...value, [free]: typed } : without(free));
  });

  const unknown = (field: string, chosen: string, whole = true) => closed.includes(field) && !fields[field]?.some((one) => (whole ? one === chosen : one.startsWith(chosen)));
  // What cannot become a filter is named at once; half a word may still become one.
  const [, pendingField = '', pendingValue = ''] = /(\S+?):(\S+)\s*$/.exec(text) ?? [];
  const wrong = [...chips.map((field) => [field, value[field] ?? ''] as const).filter(([field, chosen]) => unknown(field, chosen)), ...(unknown(pendingField, pendingValue, text.endsWith(' ')) ? [[pendingField, pendingValue] as const] : [])][0];

  const take = (typed: string): boolean => {
    const match = /^(.*?)(\S+?):(\S+)\s*$/.exec(typed);
    const [, rest = '', field = '', chosen = ''] = match ?? [];
    if (!match || !(field in fields) || unknown(field, chosen)) return false;
    const left = rest.trim();
    onChange({ ...without(free), ...(left ? { [free]: left } : {}), [field]: chosen });
    setText(left);
    return true;
  };
  const type = (typed: string) => {
    // A suggestion that was picked comes as one change with the value complete.
    const picked = Object.entries(fields).some(([field, values]) => values.some((one) => typed === `${field}:${one}`));
    if (!((picked || typed.endsWith(' ')) && take(typed))) setText(typed);
  };
  const key = (event: KeyboardEvent<HTMLInputElement>) => {
    const last = chips.at(-1);
    if (event.key === 'Enter') take(text);
    if (event.key === 'Backspace' && text === '' && last) onChange(without(last));
  };

  return (
    <div className={styles['filter']}>
      <div className={styles['bar']} role="search" onClick={(event) => { if (event.target === event.currentTarget) input.current?.focus(); }}>
        <IconFilter size={16} aria-hidden="true" />
        {chips.map((field) => (
          <button key={field} type="button" className={styles['chip']} aria-label={words.removeFilter(`${field}:${value[field]}`)} onClick={() => onChange(without(field))}>
            {field}:{value[field]}<IconX size={12} aria-hidden="true" />
          </button>
        ))}
        <input
          ref={input} className={styles['input']} type="text" aria-label={label} placeholder={chips.length ? '' : placeholder} list={list}
          autoComplete="off" autoCapitalize="off" spellCheck={false} value={text} onChange={(event) => type(event.target.value)} onKeyDown={key}
        />
        <datalist id={list}>
          {Object.entries(fields).flatMap(([field, values]) => values.map((one) => <option key={`${field}:${one}`} value={`${field}:${one}`} />))}
        </datalist>
        {(chips.length > 0 || value[free]) && (
          <button type="button" className={styles['clear']} aria-label={words.clearFilters} title={words.clearFilters} onClick={() => { setText(''); onChange({}); }}>
            <IconX size={16} aria-hidden="true" />
          </button>
        )}
      </div>
      <p className={styles['wrong']} role="status">{wrong && words.noSuchValue(wrong[0], wrong[1], (fields[wrong[0]] ?? []).join(', '))}</p>
    </div>
  );
}

/** Whether the text is a filter being typed, which must not search as free text. */
function pendingChip(text: string, fields: Record<string, readonly string[]>): boolean {
  const word = text.split(' ').at(-1) ?? '';
  const colon = word.indexOf(':');
  return colon > 0 && word.slice(0, colon) in fields;
}
