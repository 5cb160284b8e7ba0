import { useWords } from '@/shared/hooks/useWords';
import { Choice } from '@/shared/ui/Choice';
import type { Path } from '@/shared/yaml/path';
import { isObject, valueAt } from '@/shared/yaml/value';
import { AffinityFields } from './AffinityFields';
import { AddButton, Block, Item } from './Block';
import styles from './Form.module.css';
import { useForm, useList } from './context';
import { TextField } from './fields';
import { formWords } from './words';

type Mode = 'all' | 'one' | 'groups';

const placement: Path = ['spec', 'placement'];
const one: Path = [...placement, 'clusterAffinity'];
const groups: Path = [...placement, 'clusterAffinities'];

/** Where to: every cluster, a choice of them, or groups that are tried in order. */
export function ClusterFields() {
  const words = useWords(formWords);
  const { draft, value, disabled } = useForm();
  const mode: Mode = Array.isArray(valueAt(value, groups)) ? 'groups' : valueAt(value, one) !== undefined ? 'one' : 'all';
  const choose = (next: string) => {
    if (next === mode || disabled) return;
    const { clusterAffinities, clusterAffinity, ...rest } = asObject(valueAt(value, placement));
    const first = mode === 'groups' && Array.isArray(clusterAffinities) ? withoutName(clusterAffinities[0]) : asObject(clusterAffinity);
    if (next === 'all') draft.set(placement, rest);
    if (next === 'one') draft.set(placement, { ...rest, clusterAffinity: first });
    if (next === 'groups') draft.set(placement, { ...rest, clusterAffinities: [{ affinityName: 'primary', ...first }, { affinityName: 'backup' }] });
  };
  return (
    <Block title={words.clusters} path={mode === 'groups' ? groups : one}>
      <Choice label={words.clustersMode} options={Object.entries(words.clusterModes)} chosen={mode} onChoose={choose} />
      {mode === 'one' && <div className={styles['fields']}><AffinityFields path={one} /></div>}
      {mode === 'groups' && <Groups />}
    </Block>
  );
}

function Groups() {
  const words = useWords(formWords);
  const { items, add, remove } = useList(groups);
  return (
    <>
      <p className="dim small">{words.groupsHint}</p>
      {items.map((item, index) => (
        <Item key={index} path={[...groups, index]} title={words.group(index + 1)} remove={words.removeGroup(index + 1)} onRemove={() => remove(index)}>
          <TextField path={[...groups, index, 'affinityName']} label={words.groupName} />
          <AffinityFields path={[...groups, index]} />
          {Array.isArray(item?.['overflowAffinities']) && <p className="dim small">{words.overflow(item['overflowAffinities'].length)}</p>}
        </Item>
      ))}
      <AddButton label={words.addGroup} onClick={() => add({ affinityName: `group-${items.length + 1}` })} />
    </>
  );
}

function asObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function withoutName(group: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(asObject(group)).filter(([key]) => key !== 'affinityName' && key !== 'overflowAffinities'));
}
