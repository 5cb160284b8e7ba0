import '@mantine/core/styles/Combobox.layer.css';
import { NativeSelect } from '@mantine/core';
import { useWords } from '@/shared/hooks/useWords';
import type { Path } from '@/shared/yaml/path';
import { isObject, valueAt } from '@/shared/yaml/value';
import { Block, Line } from './Block';
import { useForm } from './context';
import { At, CheckField, NumberField, SelectField, TagsField } from './fields';
import { namesOf } from './fleet';
import styles from './Form.module.css';
import { OtherFields } from './OtherFields';
import { formWords } from './words';

const spec = (...rest: string[]): Path => ['spec', ...rest];
const shown = [
  'resourceSelectors', 'placement', 'priority', 'conflictResolution', 'suspension', 'propagateDeps', 'preserveResourcesOnDeletion', 'activationPreference', 'preemption', 'dependentOverrides', 'schedulerName',
];
const shownPlacement = ['clusterAffinity', 'clusterAffinities', 'clusterTolerations', 'spreadConstraints', 'replicaScheduling'];

/** What most policies leave as it is, and what only the YAML side sets. */
export function MoreFields() {
  const words = useWords(formWords);
  const { value } = useForm();
  const scheduler = valueAt(value, spec('schedulerName'));
  return (
    <Block title={words.more} path={['spec']}>
      <Line>
        <NumberField path={spec('priority')} label={words.priority} placeholder={words.priorityHint} />
        <SelectField path={spec('conflictResolution')} label={words.conflict} options={[['', words.conflicts.Abort], ['Overwrite', words.conflicts.Overwrite], ...(valueAt(value, spec('conflictResolution')) === 'Abort' ? [['Abort', words.conflicts.Abort] as const] : [])]} />
      </Line>
      <Suspension />
      <div className={styles['checks']}>
        <CheckField path={spec('propagateDeps')} label={words.dependencies} />
        <CheckField path={spec('preserveResourcesOnDeletion')} label={words.preserve} />
        <CheckField path={spec('activationPreference')} label={words.lazy} on="Lazy" />
        <CheckField path={spec('preemption')} label={words.preemption} on="Always" />
      </div>
      <TagsField path={spec('dependentOverrides')} label={words.dependentOverrides} />
      <OtherFields shown={scheduler === 'default-scheduler' ? shown : shown.filter((key) => key !== 'schedulerName')} inside={{ placement: shownPlacement }} />
    </Block>
  );
}

/** Whether it is sent at once, and where not. */
function Suspension() {
  const words = useWords(formWords);
  const { draft, value, disabled, clusters } = useForm();
  const path = spec('suspension');
  const held = valueAt(value, path);
  const some = [...path, 'dispatchingOnClusters'];
  const mode = !isObject(held) ? 'none' : held['dispatching'] === true ? 'all' : held['dispatchingOnClusters'] !== undefined ? 'some' : 'none';
  const choose = (next: string) => {
    if (next === 'none') draft.clear(path);
    else draft.set(path, next === 'all' ? { dispatching: true } : { dispatchingOnClusters: { clusterNames: namesOf(clusters).slice(0, 1) } });
  };
  return (
    <>
      <At path={path}>
        <NativeSelect label={words.suspension} disabled={disabled} value={mode} onChange={(event) => choose(event.target.value)} data={Object.entries(words.suspensions).map(([key, label]) => ({ value: key, label }))} />
      </At>
      {mode === 'some' && <TagsField path={[...some, 'clusterNames']} keep={some} label={words.heldBack} placeholder={words.heldBackHint} options={namesOf(clusters)} />}
    </>
  );
}
