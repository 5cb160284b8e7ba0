import { Button } from '@mantine/core';
import { useWords } from '@/shared/hooks/useWords';
import { Choice } from '@/shared/ui/Choice';
import { Notice } from '@/shared/ui/Notice';
import type { Path } from '@/shared/yaml/path';
import { isObject, valueAt } from '@/shared/yaml/value';
import { AboutFields } from './AboutFields';
import { AffinityFields } from './AffinityFields';
import { AddButton, Block, Item } from './Block';
import { useForm, useList } from './context';
import { OtherFields } from './OtherFields';
import { OverriderList } from './OverriderList';
import { SelectorList } from './SelectorList';
import { formWords } from './words';

const rules: Path = ['spec', 'overrideRules'];

/** What differs per cluster: the fields of both kinds of override policies. */
export function OverrideForm({ namespaced }: { namespaced: boolean }) {
  const words = useWords(formWords);
  const { items, add, remove } = useList(rules);
  return (
    <>
      <AboutFields namespaced={namespaced} />
      <SelectorList hint={words.overrideResourcesHint} namespaced={namespaced} />
      <Block title={words.rules} hint={words.rulesHint} path={rules}>
        <Legacy />
        {items.map((_, index) => (
          <Item key={index} path={[...rules, index]} title={words.rule(index + 1)} remove={words.removeRule(index + 1)} onRemove={() => remove(index)}>
            <Target path={[...rules, index, 'targetCluster']} />
            <OverriderList path={[...rules, index, 'overriders']} rule={index + 1} />
          </Item>
        ))}
        <AddButton label={words.addRule} onClick={() => add({ targetCluster: {}, overriders: { imageOverrider: [{ component: 'Tag', operator: 'replace', value: '' }] } })} />
        <OtherFields shown={['resourceSelectors', 'overrideRules', 'targetCluster', 'overriders']} />
      </Block>
    </>
  );
}

function Target({ path }: { path: Path }) {
  const words = useWords(formWords);
  const { draft, value, disabled } = useForm();
  const mode = valueAt(value, path) === undefined ? 'all' : 'one';
  const choose = (next: string) => {
    if (disabled || next === mode) return;
    draft.set(path, next === 'one' ? {} : undefined);
  };
  return (
    <>
      <Choice label={words.ruleFor} options={Object.entries(words.ruleModes)} chosen={mode} onChoose={choose} />
      {mode === 'one' && <AffinityFields path={path} />}
    </>
  );
}

/** The form with one rule and no list, which the API keeps for old policies. */
function Legacy() {
  const words = useWords(formWords);
  const { draft, value, disabled } = useForm();
  const spec = valueAt(value, ['spec']);
  if (!isObject(spec) || (spec['overriders'] === undefined && spec['targetCluster'] === undefined)) return null;
  const convert = () => {
    const { overriders, targetCluster, overrideRules, ...rest } = spec;
    const rule = { ...(targetCluster === undefined ? {} : { targetCluster }), overriders: overriders ?? {} };
    draft.set(['spec'], { ...rest, overrideRules: [rule, ...(Array.isArray(overrideRules) ? overrideRules : [])] });
  };
  return <Notice tone="info" title={words.legacy} action={<Button variant="default" size="compact-sm" disabled={disabled} onClick={convert}>{words.convert}</Button>} />;
}
