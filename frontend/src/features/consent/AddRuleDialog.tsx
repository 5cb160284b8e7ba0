import '@mantine/core/styles/Checkbox.layer.css';
import '@mantine/core/styles/InlineInput.layer.css';
import '@mantine/core/styles/Combobox.layer.css';
import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import type { NewRule } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import styles from './Dialog.module.css';
import { addRule } from './queries';
import { ruleProblem } from './rules';
import { consentWords } from './words';

const initialValues: Required<NewRule> = { kind: 'identity', value: '', approve: true, accept: false, note: '' };

/** Makes an approval rule; what it will let in stands above the button. */
export default function AddRuleDialog({ onClose }: { onClose: () => void }) {
  const words = useWords(consentWords);
  const explain = useExplain();
  const add = useMutation(addRule);
  const form = useForm({
    initialValues,
    validate: {
      value: (value, { kind }) => (!value.trim() ? words.needed : ruleProblem(kind, value.trim()) ? words.valueHints[kind] : null),
      accept: (accept, { approve }) => (accept || approve ? null : words.giveNothing),
    },
  });
  const { kind, value, approve, accept } = form.values;
  const gifts = [approve && words.givesCertificate, accept && words.givesAcceptance].filter(Boolean).join(words.and);
  const submit = form.onSubmit((values) => add.mutate({ ...values, value: values.value.trim(), note: values.note.trim() || undefined }, { onSuccess: onClose }));
  return (
    <Dialog onClose={onClose} wide title={words.addRule}>
      <form className={styles['form']} onSubmit={submit} noValidate>
        <NativeSelect label={words.kind} data={Object.entries(words.kinds).map(([key, label]) => ({ value: key, label }))} data-autofocus {...form.getInputProps('kind')} />
        <TextInput label={words.values[kind]} description={words.valueHints[kind]} placeholder={words.examples[kind]} autoComplete="off" autoCapitalize="off" spellCheck={false} {...form.getInputProps('value')} />
        <fieldset className={styles['gives']}>
          <legend>{words.gives}</legend>
          <Checkbox label={words.giveCertificate} {...form.getInputProps('approve', { type: 'checkbox' })} />
          <Checkbox label={words.giveAcceptance} {...form.getInputProps('accept', { type: 'checkbox' })} />
        </fieldset>
        <TextInput label={words.note} description={words.noteHint} maxLength={200} autoComplete="off" {...form.getInputProps('note')} />
        {gifts && (
          <Notice tone={kind === 'cluster-name' && /^\*+$/.test(value.trim()) ? 'bad' : 'warn'} title={words.lets[kind](gifts)}>
            <p>{kind === 'cluster-name' && /^\*+$/.test(value.trim()) && `${words.letsAll} `}{words.letsNow}</p>
          </Notice>
        )}
        {add.error && <Notice explained={explain.error(add.error)} />}
        <DialogButtons>
          <Button variant="default" onClick={onClose}>{words.keep}</Button>
          <Button type="submit" loading={add.isPending}>{words.makeRule}</Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
