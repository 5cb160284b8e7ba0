import '@mantine/core/styles/Combobox.layer.css';
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useExplain } from '@/api/errors';
import type { TokenCreated } from '@/api/model';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from '@/shared/ui/Dialog';
import { CommandBlock } from '@/shared/ui/CommandBlock';
import { Notice } from '@/shared/ui/Notice';
import { folded } from '@/shared/ui/shell';
import { TabBar } from '@/shared/ui/TabBar';
import { uiWords } from '@/shared/ui/words';
import styles from './Dialog.module.css';
import { createToken } from './queries';
import { tokenWords } from './words';

const clusterName = /^([a-z0-9]([-a-z0-9]{0,46}[a-z0-9])?)?$/;
const tools = ['muster', 'manifest', 'karmadactl'] as const;

/** Makes a token and shows it once. */
export default function CreateDialog({ onClose }: { onClose: () => void }) {
  const words = useWords(tokenWords);
  const ui = useWords(uiWords);
  const explain = useExplain();
  const admin = useMay('admin');
  const create = useMutation(createToken);
  const form = useForm({
    initialValues: { description: '', clusterName: '', max: '1', ttl: '86400' },
    validate: {
      clusterName: (value) => (clusterName.test(value.trim()) ? null : words.badName),
      max: (value) => (!value.trim() || /^[1-9]\d{0,5}$/.test(value.trim()) ? null : words.badMax),
    },
  });
  const ttls = [...Object.entries(words.ttls), ...(admin ? [['0', words.never] as const] : [])].map(([value, label]) => ({ value, label }));
  const submit = form.onSubmit((values) => create.mutate({
    description: values.description.trim() || undefined,
    ttlSeconds: Number(values.ttl),
    clusterName: values.clusterName.trim() || undefined,
    // A token for one name needs no number; 0 is no limit.
    maxClusters: values.clusterName.trim() ? undefined : Number(values.max.trim() || '0'),
  }));
  return (
    <Dialog onClose={onClose} wide title={create.data ? words.made : words.create}>
      {create.data ? <Made created={create.data} onClose={onClose} /> : (
        <form className={styles['form']} onSubmit={submit} noValidate>
          <TextInput label={words.description} description={words.descriptionHint} autoComplete="off" data-autofocus {...form.getInputProps('description')} />
          <NativeSelect label={words.ttl} data={ttls} {...form.getInputProps('ttl')} />
          <TextInput label={words.clusterName} description={words.clusterHint} autoComplete="off" spellCheck={false} {...form.getInputProps('clusterName')} />
          {!form.values.clusterName.trim() && <TextInput label={words.max} description={words.maxHint} inputMode="numeric" autoComplete="off" {...form.getInputProps('max')} />}
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

function Made({ created, onClose }: { created: TokenCreated; onClose: () => void }) {
  const words = useWords(tokenWords);
  const [tool, setTool] = useState<typeof tools[number]>('muster');
  return (
    <div className={styles['form']}>
      <p>{words.once}</p>
      <CommandBlock text={created.secret} secret={created.secret} what={words.secret} />
      <TabBar label={words.tabsLabel} panel="token-command" chosen={tool} tabs={tools.map((key) => ({ key, label: words.tabs[key] }))} onChoose={(key) => setTool(tools.find((one) => one === key) ?? 'muster')} />
      <div role="tabpanel" id="token-command" aria-labelledby={`token-command-${tool}`}>
        <CommandBlock key={tool} text={tool === 'manifest' ? created.commands[tool] : folded(created.commands[tool])} secret={created.secret} what={words.command} />
      </div>
      <DialogButtons><Button onClick={onClose}>{words.done}</Button></DialogButtons>
    </div>
  );
}
