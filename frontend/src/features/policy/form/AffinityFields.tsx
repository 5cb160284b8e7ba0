import { useWords } from '@/shared/hooks/useWords';
import type { Path } from '@/shared/yaml/path';
import { valueAt } from '@/shared/yaml/value';
import { AddButton, Item, Line } from './Block';
import { choosesNone } from './choice';
import { useField, useForm, useList } from './context';
import { PairsField, SelectField, TagsField } from './fields';
import { labelsOf, namesOf, placesOf } from './fleet';
import { formWords } from './words';

const placeFields = ['provider', 'region', 'zone'] as const;

/**
 * A choice of clusters: by name, by label, by place, and some never. What is empty does not narrow it. The choice stays when the last of it
 * is taken out, or whoever exchanges one cluster for another would be back at every cluster in between.
 */
export function AffinityFields({ path }: { path: Path }) {
  const words = useWords(formWords);
  const { value, clusters } = useForm();
  const { error } = useField([...path, 'clusterNames']);
  const expressions = valueAt(value, [...path, 'labelSelector', 'matchExpressions']);
  const names = namesOf(clusters);
  return (
    <>
      <TagsField path={[...path, 'clusterNames']} keep={path} label={words.names} note={!error && choosesNone(valueAt(value, path)) ? words.noneChosen : undefined} placeholder={error ? undefined : words.namesHint} options={names} />
      <PairsField path={[...path, 'labelSelector', 'matchLabels']} keep={path} label={words.clusterLabels} options={labelsOf(clusters)} />
      {Array.isArray(expressions) && expressions.length > 0 && <p className="dim small">{words.expressions(expressions.length)}</p>}
      <Places path={[...path, 'fieldSelector', 'matchExpressions']} keep={path} />
      <TagsField path={[...path, 'exclude']} keep={path} label={words.exclude} options={names} />
    </>
  );
}

function Places({ path, keep }: { path: Path; keep: Path }) {
  const words = useWords(formWords);
  const { clusters } = useForm();
  const { items, add, remove } = useList(path, keep);
  return (
    <>
      {items.map((item, index) => (
        <Item key={index} path={[...path, index]} title={words.place} remove={words.removePlace(index + 1)} onRemove={() => remove(index)}>
          <Line>
            <SelectField path={[...path, index, 'key']} label={words.placeField} options={placeFields.map((key) => [key, words.placeFields[key]])} />
            <SelectField path={[...path, index, 'operator']} label={words.operator} options={Object.entries(words.operators)} />
          </Line>
          <TagsField path={[...path, index, 'values']} label={words.values} options={placesOf(clusters, String(item?.['key']))} />
        </Item>
      ))}
      <AddButton label={words.addPlace} onClick={() => add({ key: 'region', operator: 'In', values: [] })} />
    </>
  );
}
