import { useState } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { Choice } from '@/shared/ui/Choice';
import type { Path } from '@/shared/yaml/path';
import { isObject } from '@/shared/yaml/value';
import { AddButton, Block, Item, Line } from './Block';
import { useForm, useList } from './context';
import { PairsField, SuggestField, TextField } from './fields';
import { apiVersionOf, knownKinds } from './known';
import { formWords } from './words';

const path: Path = ['spec', 'resourceSelectors'];

/** Which objects the policy means. */
export function SelectorList({ hint, namespaced }: { hint: string; namespaced: boolean }) {
  const words = useWords(formWords);
  const { items, add, remove } = useList(path);
  return (
    <Block title={words.resources} hint={hint} path={path}>
      {items.map((item, index) => (
        <Item key={index} path={[...path, index]} remove={words.removeResource(index + 1)} onRemove={() => remove(index)}>
          <Selector at={[...path, index]} item={isObject(item) ? item : {}} namespaced={namespaced} />
        </Item>
      ))}
      <AddButton label={words.addResource} onClick={() => add({ apiVersion: 'apps/v1', kind: 'Deployment' })} />
    </Block>
  );
}

type By = 'all' | 'name' | 'labels';

function Selector({ at, item, namespaced }: { at: Path; item: Record<string, unknown>; namespaced: boolean }) {
  const words = useWords(formWords);
  const { draft, disabled } = useForm();
  // Chosen, but nothing written yet: the document says "all" until there is something to write.
  const [chosen, setChosen] = useState<By>();
  const written: By = item['name'] !== undefined ? 'name' : item['labelSelector'] !== undefined ? 'labels' : 'all';
  const by = written === 'all' ? chosen ?? 'all' : written;
  const choose = (next: string) => {
    if (disabled) return;
    setChosen(next as By);
    const rest = Object.fromEntries(Object.entries(item).filter(([key]) => key !== 'name' && key !== 'labelSelector'));
    if (next !== by) draft.set(at, rest);
  };
  // A known kind brings its API version along.
  const takeKind = (kind: string) => {
    const apiVersion = apiVersionOf(kind);
    draft.set(at, { ...item, ...(apiVersion ? { apiVersion } : {}), kind });
  };
  return (
    <>
      <Line>
        <SuggestField path={[...at, 'kind']} label={words.kind} options={knownKinds.map((known) => known.kind)} take={takeKind} />
        <SuggestField path={[...at, 'apiVersion']} label={words.apiVersion} options={knownKinds.map((known) => known.apiVersion)} />
      </Line>
      <Choice label={words.by} options={Object.entries(words.bys)} chosen={by} onChoose={choose} />
      {by === 'name' && <TextField path={[...at, 'name']} label={words.objectName} />}
      {by === 'labels' && <PairsField path={[...at, 'labelSelector', 'matchLabels']} label={words.labels} />}
      {!namespaced && <TextField path={[...at, 'namespace']} label={words.objectNamespace} placeholder={words.anyNamespace} />}
    </>
  );
}
