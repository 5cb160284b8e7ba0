import '@mantine/core/styles/Combobox.layer.css';
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import type { Role } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import { uiWords } from '@/shared/ui/words';
import styles from './Dialog.module.css';
import { OneTimePassword } from './OneTimePassword';
import { createUser } from './queries';
import { userWords } from './words';

const userName = /^[a-z0-9][-.a-z0-9]{0,62}$/;
const roles: Role[] = ['viewer', 'operator', 'admin'];

/** Makes a user, and shows the one-time password once. */
export default function CreateDialog({ onClose }: { onClose: () => void }) {
  const words = useWords(userWords);
  const ui = useWords(uiWords);
  const explain = useExplain();
  const create = useMutation(createUser);
  const form = useForm({
    initialValues: { name: '', role: 'viewer' as Role },
    validate: { name: (value) => (userName.test(value.trim()) ? null : words.badName) },
  });
  const made = create.data;
  return (
    <Dialog onClose={onClose} title={made ? words.made(made.user.name) : words.create}>
      {made ? <OneTimePassword password={made.password ?? ''} onClose={onClose} /> : (
        <form className={styles['form']} noValidate onSubmit={form.onSubmit((values) => create.mutate({ name: values.name.trim(), role: values.role }))}>
          <TextInput label={words.name} description={words.nameHint} autoComplete="off" autoCapitalize="off" spellCheck={false} data-autofocus {...form.getInputProps('name')} />
          <NativeSelect label={words.role} description={words.roleTexts[form.values.role]} data={roles.map((value) => ({ value, label: words.roles[value] }))} {...form.getInputProps('role')} />
          {create.error && <Notice explained={explain.error(create.error)} />}
          <DialogButtons>
            <Button variant="default" onClick={onClose}>{ui.cancel}</Button>
            <Button type="submit" loading={create.isPending}>{words.make}</Button>
          </DialogButtons>
        </form>
      )}
    </Dialog>
  );
}
