import '@mantine/core/styles/Checkbox.layer.css';
import '@mantine/core/styles/InlineInput.layer.css';
import '@mantine/core/styles/Combobox.layer.css';
import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import { useExplain } from '@/api/errors';
import { useForgetAway } from '@/api/hub';
import type { NewRegistration } from '@/api/model';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Fold } from '@/shared/ui/Fold';
import { Notice } from '@/shared/ui/Notice';
import styles from './AddClusterPage.module.css';
import { PlaceFields } from './PlaceFields';
import { startPull } from './queries';
import { isClusterName, parseLabels, splitList } from './rules';
import { registrationWords } from './words';

const initialValues = { name: '', labels: '', provider: '', region: '', zones: '', ttl: '86400', any: false };

function requestOf(values: typeof initialValues): NewRegistration {
  const labels = parseLabels(values.labels) ?? {};
  const zones = splitList(values.zones);
  return {
    flavour: 'pull',
    clusterName: values.name.trim() || undefined,
    ttlSeconds: Number(values.ttl),
    labels: Object.keys(labels).length > 0 ? labels : undefined,
    provider: values.provider.trim() || undefined,
    region: values.region.trim() || undefined,
    zones: zones.length > 0 ? zones : undefined,
    anyCluster: values.any || undefined,
  };
}

/** What the hub should know of a cluster that will call. All of it is optional. */
export function PullForm({ may, onBack }: { may: boolean; onBack: () => void }) {
  const words = useWords(registrationWords);
  const explain = useExplain();
  const [, navigate] = useLocation();
  const start = useMutation(startPull);
  useForgetAway(start);
  const form = useForm({
    initialValues,
    validate: {
      name: (value) => (!value.trim() || isClusterName(value.trim()) ? null : words.badName),
      labels: (value) => (parseLabels(value) ? null : words.badLabels),
    },
  });
  const submit = form.onSubmit((values) => start.mutate(requestOf(values), { onSuccess: (registration) => navigate(paths.registration(registration.id)) }));
  return (
    <form className={styles['form']} onSubmit={submit} noValidate>
      <TextInput label={words.name} description={words.nameOptional} autoComplete="off" autoCapitalize="off" spellCheck={false} autoFocus {...form.getInputProps('name')} />
      <NativeSelect label={words.ttl} data={Object.entries(words.ttls).map(([value, label]) => ({ value, label }))} {...form.getInputProps('ttl')} />
      {!form.values.name.trim() && <Checkbox label={words.any} description={words.anyHint} {...form.getInputProps('any', { type: 'checkbox' })} />}
      <Fold summary={words.more} urgent={Boolean(form.errors['labels'])}>
        <PlaceFields form={form} />
      </Fold>
      {start.error && <Notice explained={explain.error(start.error)} />}
      <div className={styles['buttons']}>
        <Button variant="default" onClick={onBack}>{words.back}</Button>
        <Button type="submit" disabled={!may} title={may ? undefined : words.needRole} loading={start.isPending}>{words.make}</Button>
      </div>
    </form>
  );
}
