import { TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useWords } from '@/shared/hooks/useWords';
import styles from './AddClusterPage.module.css';
import { registrationWords } from './words';

export interface PlaceValues {
  labels: string;
  provider: string;
  region: string;
  zones: string;
}

/** How the cluster is labelled and where it stands, as both ways of adding ask for it. */
export function PlaceFields<V extends PlaceValues>({ form }: { form: UseFormReturnType<V> }) {
  const words = useWords(registrationWords);
  return (
    <div className={styles['form']}>
      <TextInput label={words.labels} placeholder={words.labelsHint} autoComplete="off" spellCheck={false} {...form.getInputProps('labels')} />
      <div className={styles['fields']}>
        <TextInput label={words.provider} autoComplete="off" {...form.getInputProps('provider')} />
        <TextInput label={words.region} autoComplete="off" {...form.getInputProps('region')} />
        <TextInput label={words.zones} placeholder={words.zonesHint} autoComplete="off" {...form.getInputProps('zones')} />
      </div>
    </div>
  );
}
