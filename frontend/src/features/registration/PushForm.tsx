import { Button, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { useExplain } from '@/api/errors';
import { useForgetAway } from '@/api/hub';
import type { Preflight } from '@/api/model';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Fold } from '@/shared/ui/Fold';
import { Notice } from '@/shared/ui/Notice';
import styles from './AddClusterPage.module.css';
import { KubeconfigInput } from './KubeconfigInput';
import { PlaceFields } from './PlaceFields';
import { PreflightReport } from './PreflightReport';
import { preflight, startPush } from './queries';
import { clusterNameFrom, isClusterName, parseLabels, splitList } from './rules';
import { registrationWords } from './words';

/** Kubeconfig, checks, plan, join. The kubeconfig lives in this component's memory and nowhere else. */
export function PushForm({ may, onBack }: { may: boolean; onBack: () => void }) {
  const words = useWords(registrationWords);
  const explain = useExplain();
  const [, navigate] = useLocation();
  const check = useMutation(preflight);
  const start = useMutation(startPush);
  // The mutation forgets its answer while it asks again; the page keeps it in view.
  const [report, setReport] = useState<Preflight>();
  // The name that was proposed from the context, until somebody types another; and the name that the plan shown is for.
  const proposed = useRef('');
  const planned = useRef('');
  const plan = useMutation(preflight);
  useForgetAway(check, start);
  const form = useForm({
    initialValues: { name: '', kubeconfig: '', labels: '', provider: '', region: '', zones: '' },
    validate: {
      name: (value) => (isClusterName(value.trim()) ? null : value.trim() ? words.badName : words.needed),
      kubeconfig: (value) => (value.trim() ? null : words.needed),
      labels: (value) => (parseLabels(value) ? null : words.badLabels),
    },
  });
  const { name, kubeconfig, labels, provider, region, zones } = form.values;

  const runCheck = (context?: string) => {
    if (form.validateField('kubeconfig').hasError) return;
    const own = Boolean(name.trim()) && name.trim() !== proposed.current;
    // Another context is another cluster: a name that nobody typed goes with it.
    const wanted = own ? name.trim() : clusterNameFrom(context ?? '');
    check.mutate({ kubeconfig, context, name: isClusterName(wanted) ? wanted : undefined }, {
      // A context that cannot be used leaves the others to choose from.
      onError: () => { if (!context) setReport(undefined); },
      onSuccess: (result) => {
        setReport(result);
        planned.current = isClusterName(wanted) ? wanted : '';
        if (own) return;
        proposed.current = clusterNameFrom(result.context);
        form.setFieldValue('name', proposed.current);
        planFor(result, proposed.current);
      },
    });
  };
  // The plan names what will be created after the cluster: without a name there is none, with another name it is another.
  const planFor = (checked: Preflight | undefined, wanted: string) => {
    if (!checked?.ok || wanted === planned.current || !isClusterName(wanted)) return;
    planned.current = wanted;
    plan.mutate({ kubeconfig, context: checked.context, name: wanted }, { onSuccess: (result) => { if (planned.current === wanted) setReport(result); } });
  };
  const join = form.onSubmit(() => start.mutate({
    flavour: 'push', clusterName: name.trim(), kubeconfig, context: report?.context || undefined,
    labels: labels.trim() ? parseLabels(labels) : undefined,
    provider: provider.trim() || undefined, region: region.trim() || undefined, zones: zones.trim() ? splitList(zones) : undefined,
  }, { onSuccess: (registration) => navigate(paths.registration(registration.id)) }));
  const edit = (text: string) => {
    form.setFieldValue('kubeconfig', text);
    setReport(undefined);
    check.reset();
    if (text || name.trim() !== proposed.current) return;
    proposed.current = '';
    form.setFieldValue('name', '');
  };

  return (
    <form className={styles['form']} onSubmit={join} noValidate autoComplete="off">
      {!report && <KubeconfigInput value={kubeconfig} error={form.errors['kubeconfig']} onChange={edit} />}
      {check.error && <Notice explained={explain.error(check.error)} />}
      {report && <PreflightReport report={report} busy={check.isPending} onContext={runCheck} />}
      {report && (
        <>
          <TextInput
            label={words.name} description={words.nameHint} autoComplete="off" autoCapitalize="off" spellCheck={false} {...form.getInputProps('name')}
            onBlur={(event) => planFor(report, event.target.value.trim())}
          />
          <Fold summary={words.more} urgent={Boolean(form.errors['labels'])}>
            <PlaceFields form={form} />
          </Fold>
        </>
      )}
      {start.error && <Notice explained={explain.error(start.error)} />}
      <div className={styles['buttons']}>
        {report
          ? <><Button variant="default" onClick={() => edit('')}>{words.change}</Button>
            <Button variant="default" loading={check.isPending} onClick={() => runCheck(report.context)}>{words.checkAgain}</Button>
            <Button type="submit" disabled={!may || !report.ok || check.isPending || plan.isPending} title={may ? undefined : words.needRole} loading={start.isPending}>{words.join(name.trim() || '…')}</Button></>
          : <><Button variant="default" onClick={onBack}>{words.back}</Button>
            <Button disabled={!may} title={may ? undefined : words.needRole} loading={check.isPending} onClick={() => runCheck()}>{words.check}</Button></>}
      </div>
    </form>
  );
}
