import { useWords } from '@/shared/hooks/useWords';
import type { Path } from '@/shared/yaml/path';
import { AddButton, Block, Item, Line } from './Block';
import { useList } from './context';
import { NumberField, SelectField } from './fields';
import { formWords } from './words';

const path: Path = ['spec', 'placement', 'spreadConstraints'];
const fields = ['cluster', 'region', 'zone', 'provider'];

/** How many clusters, regions, zones or providers share the work. */
export function SpreadFields() {
  const words = useWords(formWords);
  const { items, add, remove } = useList(path);
  const used = items.map((item) => item?.['spreadByField']);
  const next = fields.find((field) => !used.includes(field)) ?? 'cluster';
  return (
    <Block title={words.spread} hint={words.spreadHint} path={path}>
      {items.map((item, index) => (
        <Item key={index} path={[...path, index]} remove={words.removeSpread(index + 1)} onRemove={() => remove(index)}>
          <Line>
            <SelectField path={[...path, index, 'spreadByField']} label={words.spreadBy} options={fields.map((field) => [field, words.spreadFields[field] ?? field])} />
            <NumberField path={[...path, index, 'minGroups']} label={words.min} placeholder="1" least={0} />
            <NumberField path={[...path, index, 'maxGroups']} label={words.max} least={0} />
          </Line>
          {!item?.['maxGroups'] && <p className="small" role="status">{words.maxNeeded}</p>}
        </Item>
      ))}
      {items.length > 0 && !used.includes('cluster') && <p className="small" role="status">{words.clusterNeeded}</p>}
      <AddButton label={words.addSpread} onClick={() => add({ spreadByField: next, minGroups: 1, maxGroups: 2 })} />
    </Block>
  );
}
