/** A choice of clusters that loses its last one stays a choice: the hub would take none for every cluster. */
import { useSyncExternalStore } from 'react';
import { expect, it } from 'vitest';
import { Draft } from '@/shared/yaml/draft';
import { parse } from '@/shared/yaml/parse';
import { formatPath } from '@/shared/yaml/path';
import { click, render } from '@/test/render';
import { choiceProblems } from '../editor/problems';
import { en } from '../editor/words.en';
import { choosesNone } from './choice';
import { ClusterFields } from './ClusterFields';
import { FormProvider } from './context';
import { MoreFields } from './MoreFields';
import { OverrideForm } from './OverrideForm';
import { ReplicaFields } from './ReplicaFields';

function Form({ draft, children }: { draft: Draft; children: React.ReactNode }) {
  const { parsed } = useSyncExternalStore(draft.watch, draft.get);
  return <FormProvider value={{ draft, value: parsed.value, disabled: false, saved: false, problems: choiceProblems(parsed, undefined, en), clusters: [] }}>{children}</FormProvider>;
}

async function open(spec: string, form: React.ReactNode) {
  const draft = new Draft(`kind: PropagationPolicy\nspec:\n${spec}`);
  const place = await render(<Form draft={draft}>{form}</Form>);
  const at = (path: string) => place.querySelector(`[data-path="${path}"]`);
  return {
    draft,
    at,
    /** Takes the only pill of a field out by its button. */
    takeOut: async (path: string) => {
      const buttons = at(path)?.querySelectorAll('.mantine-Pill-remove') ?? [];
      expect(buttons).toHaveLength(1);
      await click(buttons[0]);
    },
    chosen: (mode: string) => [...place.querySelectorAll('button')].find((button) => button.textContent === mode)?.getAttribute('aria-pressed'),
  };
}

const affinity = 'spec.placement.clusterAffinity';
const block = (choice: string) => `  placement:\n    clusterAffinity:\n${choice}`;

it.each([
  ['name', `${affinity}.clusterNames`, '      clusterNames:\n      - member1\n'],
  ['label', `${affinity}.labelSelector.matchLabels`, '      labelSelector:\n        matchLabels:\n          tier: gold\n'],
  ['exception', `${affinity}.exclude`, '      exclude: [member1]\n'],
])('the last %s leaves an empty choice, that is refused until something is chosen', async (_, path, choice) => {
  const form = await open(block(choice), <ClusterFields />);
  await form.takeOut(path);
  expect(form.draft.get().text).toBe('kind: PropagationPolicy\nspec:\n  placement:\n    clusterAffinity: {}\n');
  expect(form.chosen('chosen clusters')).toBe('true');
  expect(form.chosen('every cluster')).toBe('false');
  expect(form.at(`${affinity}.clusterNames`)?.textContent).toContain(en.faults.noCluster);
  form.draft.undo();
  expect(form.draft.get().text).toContain(choice);
});

it('says "every cluster" by a click, and then means it', async () => {
  const form = await open(block('      clusterNames: [member1]\n'), <ClusterFields />);
  await form.takeOut(`${affinity}.clusterNames`);
  await click([...document.querySelectorAll('button')].find((button) => button.textContent === 'every cluster'));
  expect(form.draft.get().text).toBe('kind: PropagationPolicy\nspec:\n  placement: {}\n');
  expect(choiceProblems(form.draft.get().parsed, undefined, en)).toEqual([]);
});

it('the last place leaves an empty choice as well', async () => {
  const form = await open(block('      fieldSelector:\n        matchExpressions:\n        - {key: region, operator: In, values: [eu]}\n'), <ClusterFields />);
  await click(form.at(`${affinity}.fieldSelector.matchExpressions[0]`)?.querySelector('[aria-label="Remove place 1"]'));
  expect(form.draft.get().text).toBe('kind: PropagationPolicy\nspec:\n  placement:\n    clusterAffinity: {}\n');
});

it('a rule of an override keeps to chosen clusters', async () => {
  const form = await open('  overrideRules:\n  - targetCluster:\n      clusterNames: [member1]\n    overriders: {}\n', <OverrideForm namespaced />);
  await form.takeOut('spec.overrideRules[0].targetCluster.clusterNames');
  expect(form.draft.get().text).toContain('targetCluster: {}');
  expect(form.chosen('chosen clusters')).toBe('true');
  expect(form.at('spec.overrideRules[0].targetCluster.clusterNames')?.textContent).toContain(en.faults.noCluster);
});

it('a weight keeps its target, and sending stays held back in some clusters', async () => {
  const weights = await open('  placement:\n    replicaScheduling:\n      replicaSchedulingType: Divided\n      replicaDivisionPreference: Weighted\n      weightPreference:\n        staticWeightList:\n        - targetCluster:\n            clusterNames: [member1]\n          weight: 1\n', <ReplicaFields />);
  await weights.takeOut('spec.placement.replicaScheduling.weightPreference.staticWeightList[0].targetCluster.clusterNames');
  expect(weights.draft.get().text).toContain('- targetCluster: {}\n');
  const sending = await open('  suspension:\n    dispatchingOnClusters:\n      clusterNames: [member1]\n', <MoreFields />);
  await sending.takeOut('spec.suspension.dispatchingOnClusters.clusterNames');
  expect(sending.draft.get().text).toContain('dispatchingOnClusters: {}');
  expect(sending.at('spec.suspension')?.querySelector('select')?.value).toBe('some');
});

it.each([
  [undefined, true], [null, true], [{}, true], [{ clusterNames: [], exclude: [], labelSelector: {}, fieldSelector: { matchExpressions: [] } }, true],
  [{ clusterNames: ['a'] }, false], [{ exclude: ['a'] }, false], [{ labelSelector: { matchLabels: { a: '' } } }, false],
  [{ labelSelector: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } }, false], [{ fieldSelector: { matchExpressions: [{ key: 'region', operator: 'In', values: [] }] } }, false],
])('of %j it says that it chooses none: %j', (choice, none) => {
  expect(choosesNone(choice)).toBe(none);
});

const policy = (placement: string) => parse(`spec:\n  placement: ${placement}\n  overrideRules: [{targetCluster: {clusterNames: []}}, {}]\n`);
const refused = (saved: string | undefined, placement: string) => choiceProblems(policy(placement), saved === undefined ? undefined : policy(saved).value, en).map((problem) => formatPath(problem.path));

it('refuses what is written by hand too, but not what the hub holds already, nor groups that take the rest', () => {
  const rule = 'spec.overrideRules[0].targetCluster.clusterNames';
  expect(refused(undefined, '{clusterAffinity: {clusterNames: []}}')).toEqual([`${affinity}.clusterNames`, rule]);
  expect(refused('{clusterAffinity: {}}', '{clusterAffinity: {clusterNames: []}}')).toEqual([]);
  expect(refused('{clusterAffinity: {clusterNames: [a]}}', '{clusterAffinity: {}}')).toEqual([`${affinity}.clusterNames`]);
  expect(refused(undefined, '{}')).toEqual([rule]);
  expect(refused('{}', '{clusterAffinities: [{affinityName: a}]}')).toEqual([]);
});
