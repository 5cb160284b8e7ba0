import { useWords } from '@/shared/hooks/useWords';
import type { Path } from '@/shared/yaml/path';
import { AddButton, Block, Item, Line } from './Block';
import { useForm, useList } from './context';
import { NumberField, SelectField, SuggestField, TextField } from './fields';
import { formWords } from './words';

const path: Path = ['spec', 'placement', 'clusterTolerations'];
const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

/** The taints that do not keep it away. */
export function TolerationFields() {
  const words = useWords(formWords);
  const { clusters } = useForm();
  const { items, add, remove } = useList(path);
  const taints = [...new Set(clusters.flatMap((cluster) => cluster.taints.map((taint) => taint.key)))].sort();
  return (
    <Block title={words.tolerations} hint={words.tolerationsHint} path={path}>
      {items.map((item, index) => (
        <Item key={index} path={[...path, index]} remove={words.removeToleration(index + 1)} onRemove={() => remove(index)}>
          <SuggestField path={[...path, index, 'key']} label={words.taintKey} placeholder={words.anyTaint} options={taints} />
          <Line>
            <SelectField path={[...path, index, 'operator']} label={words.tolerationOperator} options={[['', words.tolerationOperators.Equal], ...Object.entries(words.tolerationOperators)].slice(item?.['operator'] ? 1 : 0) as [string, string][]} />
            {item?.['operator'] !== 'Exists' && <TextField path={[...path, index, 'value']} label={words.taintValue} />}
            <SelectField path={[...path, index, 'effect']} label={words.effect} options={[['', words.anyEffect], ...effects.map((effect) => [effect, effect] as const)]} />
            {item?.['effect'] === 'NoExecute' && <NumberField path={[...path, index, 'tolerationSeconds']} label={words.seconds} least={0} />}
          </Line>
        </Item>
      ))}
      <AddButton label={words.addToleration} onClick={() => add({ key: taints[0] ?? 'dedicated', operator: 'Exists' })} />
    </Block>
  );
}
