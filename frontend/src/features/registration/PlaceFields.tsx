import { TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useWords } from '@/shared/hooks/useWords';
import styles from './AddClusterPage.module.css';
import { registrationWords } from './words';

export interface PlaceValues {
  provider: string;
  region: string;
  zones: string;
}

/** Where the cluster stands, as both ways of adding ask for it. */
export function PlaceFields<V extends PlaceValues>({ form }: { form: UseFormReturnType<V> }) {
  const words = useWords(registrationWords);
  return (
    <div className={styles['fields']}>
      <TextInput label={words.provider} autoComplete="off" {...form.getInputProps('provider')} />
      <TextInput label={words.region} autoComplete="off" {...form.getInputProps('region')} />
      <TextInput label={words.zones} placeholder={words.zonesHint} autoComplete="off" {...form.getInputProps('zones')} />
    </div>
  );
}
