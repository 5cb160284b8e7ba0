import '@mantine/core/styles/Combobox.layer.css';
import { NativeSelect } from '@mantine/core';
import { useWords } from '@/shared/hooks/useWords';
import type { Path } from '@/shared/yaml/path';
import { isObject, valueAt } from '@/shared/yaml/value';
import { AnyValueField } from './AnyValueField';
import { AddButton, Item, Line } from './Block';
import { useForm, useList } from './context';
import { At, LinesField, PairsField, SelectField, TextField } from './fields';
import type { Sort } from './overriders';
import { formWords } from './words';

const all = ['add', 'remove', 'replace'] as const;

/** The fields of one overrider. */
export function OverriderFields({ sort, path }: { sort: Sort; path: Path }) {
  const words = useWords(formWords);
  switch (sort) {
    case 'imageOverrider':
      return (
        <>
          <Line>
            <SelectField path={[...path, 'component']} label={words.component} options={Object.entries(words.components)} />
            <Operator path={path} operators={all} />
            <Unless path={path} operator="remove"><TextField path={[...path, 'value']} label={words.value} /></Unless>
          </Line>
          <TextField path={[...path, 'predicate', 'path']} label={words.imagePath} placeholder={words.imagePathHint} />
        </>
      );
    case 'commandOverrider': case 'argsOverrider':
      return (
        <>
          <Line>
            <TextField path={[...path, 'containerName']} label={words.container} />
            <Operator path={path} operators={['add', 'remove']} />
          </Line>
          <LinesField path={[...path, 'value']} label={words.words} note={words.wordsHint} />
        </>
      );
    case 'labelsOverrider': case 'annotationsOverrider':
      return (
        <>
          <Operator path={path} operators={all} />
          <PairsField path={[...path, 'value']} label={words.pairs} />
        </>
      );
    case 'fieldOverrider': return <FieldOverrider path={path} />;
    case 'plaintext':
      return (
        <>
          <TextField path={[...path, 'path']} label={words.path} placeholder={words.pathHint} />
          <Line>
            <Operator path={path} operators={all} />
            <Unless path={path} operator="remove"><AnyValueField path={[...path, 'value']} label={words.value} /></Unless>
          </Line>
        </>
      );
  }
}

function Operator({ path, operators }: { path: Path; operators: readonly (typeof all[number])[] }) {
  const words = useWords(formWords);
  const { draft, value } = useForm();
  const held: Path = [...path, 'value'];
  // What is taken away needs no value; one that somebody wrote stays until they take it out.
  const take = (operator: string) => draft.setAll([[[...path, 'operator'], operator], ...(operator === 'remove' && valueAt(value, held) === '' ? [[held, undefined] as const] : [])]);
  return <SelectField path={[...path, 'operator']} label={words.what} options={operators.map((operator) => [operator, words.whats[operator]] as const)} take={take} />;
}

/** Hides a value that the operator does not take. */
function Unless({ path, operator, children }: { path: Path; operator: string; children: React.ReactNode }) {
  const { value } = useForm();
  return valueAt(value, [...path, 'operator']) === operator && valueAt(value, [...path, 'value']) === undefined ? null : children;
}

/** Operations inside of a JSON or YAML document that a field holds as text. */
function FieldOverrider({ path }: { path: Path }) {
  const words = useWords(formWords);
  const { draft, value, disabled } = useForm();
  const held = valueAt(value, path);
  const format = isObject(held) && held['json'] !== undefined ? 'json' : 'yaml';
  const list: Path = [...path, format];
  const { items, add, remove } = useList(list);
  const change = (next: string) => {
    if (!isObject(held) || next === format) return;
    const { [format]: operations, ...rest } = held;
    draft.set(path, { ...rest, [next]: operations });
  };
  return (
    <>
      <Line>
        <TextField path={[...path, 'fieldPath']} label={words.fieldPath} placeholder={words.fieldPathHint} />
        <At path={list}><NativeSelect label={words.format} disabled={disabled} value={format} onChange={(event) => change(event.target.value)} data={Object.entries(words.formats).map(([key, label]) => ({ value: key, label }))} /></At>
      </Line>
      {items.map((_, index) => (
        <Item key={index} path={[...list, index]} remove={words.removeOperation(index + 1)} onRemove={() => remove(index)}>
          <Line>
            <TextField path={[...list, index, 'subPath']} label={words.subPath} placeholder={words.subPathHint} />
            <Operator path={[...list, index]} operators={all} />
            <Unless path={[...list, index]} operator="remove"><AnyValueField path={[...list, index, 'value']} label={words.value} /></Unless>
          </Line>
        </Item>
      ))}
      <AddButton label={words.addOperation} onClick={() => add({ subPath: '/', operator: 'replace', value: '' })} />
    </>
  );
}
