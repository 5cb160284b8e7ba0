import '@mantine/core/styles/Combobox.layer.css';
import { NativeSelect } from '@mantine/core';
import { useWords } from '@/shared/hooks/useWords';
import type { Path } from '@/shared/yaml/path';
import { valueAt } from '@/shared/yaml/value';
import { AddButton, Block, Item, Line } from './Block';
import { useForm, useList } from './context';
import { At, NumberField, TagsField } from './fields';
import { namesOf } from './fleet';
import { divisionOf, schedulingOf } from './division';
import { formWords } from './words';

const path: Path = ['spec', 'placement', 'replicaScheduling'];
const weights: Path = [...path, 'weightPreference', 'staticWeightList'];

/** How the replicas of a workload are placed. */
export function ReplicaFields() {
  const words = useWords(formWords);
  const { draft, value, disabled, clusters } = useForm();
  const held = valueAt(value, path);
  const division = divisionOf(held);
  const choose = (next: string) => {
    const scheduling = schedulingOf(next, namesOf(clusters));
    if (scheduling) draft.set(path, scheduling);
    else draft.clear(path);
  };
  return (
    <Block title={words.replicas} path={path}>
      <At path={path}>
        <NativeSelect label={words.division} disabled={disabled} value={division} onChange={(event) => choose(event.target.value)} data={Object.entries(words.divisions).map(([key, label]) => ({ value: key, label }))} />
      </At>
      {division === 'static' && <Weights />}
    </Block>
  );
}

function Weights() {
  const words = useWords(formWords);
  const { clusters } = useForm();
  const { items, add, remove } = useList(weights);
  return (
    <>
      {items.map((_, index) => (
        <Item key={index} path={[...weights, index]} remove={words.removeWeight(index + 1)} onRemove={() => remove(index)}>
          <Line>
            <TagsField path={[...weights, index, 'targetCluster', 'clusterNames']} keep={[...weights, index, 'targetCluster']} label={words.weightClusters} placeholder={words.namesHint} options={namesOf(clusters)} />
            <NumberField path={[...weights, index, 'weight']} label={words.weight} least={1} />
          </Line>
        </Item>
      ))}
      <AddButton label={words.addWeight} onClick={() => add({ targetCluster: {}, weight: 1 })} />
    </>
  );
}
