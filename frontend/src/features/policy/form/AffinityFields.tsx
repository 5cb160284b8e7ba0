import { useWords } from '@/shared/hooks/useWords';
import type { Path } from '@/shared/yaml/path';
import { valueAt } from '@/shared/yaml/value';
import { AddButton, Item, Line } from './Block';
import { useForm, useList } from './context';
import { PairsField, SelectField, TagsField } from './fields';
import { labelsOf, namesOf, placesOf } from './fleet';
import { formWords } from './words';

const placeFields = ['provider', 'region', 'zone'] as const;

/** A choice of clusters: by name, by label, by place, and some never. What is empty does not narrow it. */
export function AffinityFields({ path }: { path: Path }) {
  const words = useWords(formWords);
  const { value, clusters } = useForm();
  const expressions = valueAt(value, [...path, 'labelSelector', 'matchExpressions']);
  const names = namesOf(clusters);
  return (
    <>
      <TagsField path={[...path, 'clusterNames']} label={words.names} placeholder={words.namesHint} options={names} />
      <PairsField path={[...path, 'labelSelector', 'matchLabels']} label={words.clusterLabels} options={labelsOf(clusters)} />
      {Array.isArray(expressions) && expressions.length > 0 && <p className="dim small">{words.expressions(expressions.length)}</p>}
      <Places path={[...path, 'fieldSelector', 'matchExpressions']} />
      <TagsField path={[...path, 'exclude']} label={words.exclude} options={names} />
    </>
  );
}

function Places({ path }: { path: Path }) {
  const words = useWords(formWords);
  const { clusters } = useForm();
  const { items, add, remove } = useList(path);
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
