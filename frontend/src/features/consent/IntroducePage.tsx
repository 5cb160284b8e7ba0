import '@mantine/core/styles/Combobox.layer.css';
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import { useExplain } from '@/api/errors';
import type { NewOnboarding } from '@/api/model';
import { useMay } from '@/api/session';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Fold } from '@/shared/ui/Fold';
import { Notice } from '@/shared/ui/Notice';
import { Frame } from './Frame';
import styles from './IntroducePage.module.css';
import { introduce, type Mode, modes } from './queries';
import { isHttps, isName, parseLabels } from './rules';
import { consentWords } from './words';

const initialValues = { name: '', mode: 'default' as Mode, token: 'service-account' as NonNullable<NewOnboarding['token']>, ttl: '3600', labels: '', server: '' };

function requestOf({ name, mode, token, ttl, labels, server }: typeof initialValues): NewOnboarding {
  const bootstrap = token === 'bootstrap';
  return {
    clusterName: name.trim(), mode, token,
    // An account's token lives a day at most.
    ttlSeconds: bootstrap ? Number(ttl) : Math.min(Number(ttl), 86_400),
    serverUrl: server.trim() || undefined,
    tokenLabels: bootstrap && labels.trim() ? parseLabels(labels) ?? undefined : undefined,
  };
}

/** The details of a cluster that introduces itself: its name, where its agents run, and with which token it comes. */
export default function IntroducePage() {
  const words = useWords(consentWords);
  const explain = useExplain();
  const may = useMay('operator');
  const [, navigate] = useLocation();
  const start = useMutation(introduce);
  const form = useForm({
    initialValues,
    validate: {
      name: (value) => (isName(value.trim()) ? null : words.badName),
      labels: (value, { token }) => (token !== 'bootstrap' || parseLabels(value) ? null : words.badLabels),
      server: (value) => (!value.trim() || isHttps(value.trim()) ? null : words.badServer),
    },
  });
  const bootstrap = form.values.token === 'bootstrap';
  const ttls = Object.entries(bootstrap ? { ...words.ttls, ...words.moreTtls } : words.ttls).map(([value, label]) => ({ value, label }));
  const submit = form.onSubmit((values) => start.mutate(requestOf(values), { onSuccess: (cluster) => navigate(`${paths.introduced(cluster)}${values.mode === 'default' ? '' : `?mode=${values.mode}`}`) }));
  return (
    <Frame step={1}>
      {!may && <Notice tone="warn" title={words.needRole} />}
      <form className={styles['form']} onSubmit={submit} noValidate>
        <TextInput label={words.name} description={words.nameHint} autoComplete="off" autoCapitalize="off" spellCheck={false} autoFocus {...form.getInputProps('name')} />
        <fieldset className={styles['modes']}>
          <legend>{words.mode}</legend>
          {modes.map((mode) => (
            <label key={mode} className={styles['mode']}>
              <input type="radio" name="mode" value={mode} checked={form.values.mode === mode} onChange={() => form.setFieldValue('mode', mode)} />
              <span><strong>{words.modes[mode]}</strong><br /><span className="dim">{words.modeTexts[mode]}</span></span>
            </label>
          ))}
        </fieldset>
        <Fold summary={words.more} urgent={Boolean(form.errors['labels'] || form.errors['server'])}>
          <div className={styles['form']}>
            <NativeSelect label={words.credential} data={Object.entries(words.credentials).map(([value, label]) => ({ value, label }))} {...form.getInputProps('token')} />
            <NativeSelect label={words.ttl} data={ttls} {...form.getInputProps('ttl')} />
            {bootstrap && <TextInput label={words.labels} placeholder={words.labelsHint} autoComplete="off" spellCheck={false} {...form.getInputProps('labels')} />}
            <TextInput label={words.server} description={words.serverHint} placeholder="https://…:6443" inputMode="url" autoComplete="off" spellCheck={false} {...form.getInputProps('server')} />
          </div>
        </Fold>
        {start.error && <Notice explained={explain.error(start.error)} />}
        <div className={styles['buttons']}>
          <Button variant="default" component={Link} href={`${paths.addCluster()}?how=ocm`}>{words.back}</Button>
          <Button type="submit" disabled={!may} title={may ? undefined : words.needRole} loading={start.isPending}>{words.make}</Button>
        </div>
      </form>
    </Frame>
  );
}
