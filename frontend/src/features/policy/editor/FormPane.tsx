import { useMemo } from 'react';
import { FormProvider } from '../form/context';
import styles from '../form/Form.module.css';
import { OverrideForm } from '../form/OverrideForm';
import { PropagationForm } from '../form/PropagationForm';
import type { Draft } from '@/shared/yaml/draft';
import type { Editing } from './useEditing';

/** The form of the draft's kind. */
export function FormPane({ draft, editing, saved }: { draft: Draft; editing: Editing; saved: boolean }) {
  const { snapshot: { sound }, broken, identity: { facts }, problems, clusters } = editing;
  const disabled = broken !== undefined;
  const form = useMemo(() => ({ draft, value: sound.value, disabled, saved, problems, clusters }), [draft, sound, disabled, saved, problems, clusters]);
  return (
    <FormProvider value={form}>
      <div className={styles['form']}>{facts.family === 'override' ? <OverrideForm namespaced={facts.namespaced} /> : <PropagationForm namespaced={facts.namespaced} />}</div>
    </FormProvider>
  );
}
