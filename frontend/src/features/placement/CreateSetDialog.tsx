import { Button, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import { uiWords } from '@/shared/ui/words';
import styles from './placement.module.css';
import { createSet } from './queries';
import { namesIn } from './state';
import { placementWords } from './words';

const setName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Makes a set, bound at once if wanted. */
export default function CreateSetDialog({ onClose }: { onClose: () => void }) {
  const { sets: words } = useWords(placementWords);
  const ui = useWords(uiWords);
  const explain = useExplain();
  const create = useMutation(createSet);
  const form = useForm({
    initialValues: { name: '', selector: '', namespaces: '' },
    validate: { name: (value) => (setName.test(value.trim()) ? null : words.badName) },
  });
  const submit = form.onSubmit((values) => create.mutate(
    { name: values.name.trim(), selector: values.selector.trim() || undefined, namespaces: namesIn(values.namespaces) },
    { onSuccess: onClose },
  ));
  return (
    <Dialog onClose={onClose} title={words.createTitle}>
      <form className={styles['form']} onSubmit={submit} noValidate>
        <TextInput label={words.name} description={words.nameHint} autoComplete="off" spellCheck={false} data-autofocus {...form.getInputProps('name')} />
        <TextInput label={words.selector} description={words.selectorHint} autoComplete="off" spellCheck={false} {...form.getInputProps('selector')} />
        <TextInput label={words.namespaces} description={words.namespacesHint} autoComplete="off" spellCheck={false} {...form.getInputProps('namespaces')} />
        {create.error && <Notice explained={explain.error(create.error)} />}
        <DialogButtons>
          <Button variant="default" onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" loading={create.isPending}>{words.make}</Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
