import { Button } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import { ApiError } from '@/api/client';
import { useExplain } from '@/api/errors';
import { useFollow } from '@/api/hub';
import type { NewRegistration, Registration } from '@/api/model';
import { useMay } from '@/api/session';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Empty } from '@/shared/ui/Empty';
import { Notice } from '@/shared/ui/Notice';
import { Placeholder } from '@/shared/ui/Placeholder';
import { Section } from '@/shared/ui/Section';
import { CommandPanel } from './CommandPanel';
import { DecodeBox } from './DecodeBox';
import { LogPanel } from './LogPanel';
import { Progress } from './Progress';
import { cancelRegistration, issuedFor, registrationDetail, startPull, topicOf } from './queries';
import { ReadyPanel } from './ReadyPanel';
import styles from './RegistrationPage.module.css';
import { WizardFrame } from './WizardFrame';
import { registrationWords } from './words';

/** The wizard's last step: one registration, followed live until the cluster is ready. The id in the address survives a reload. */
export default function RegistrationPage({ id }: { id: string }) {
  const words = useWords(registrationWords);
  const explain = useExplain();
  useFollow(topicOf(id));
  const query = useQuery(registrationDetail(id));
  if (query.error instanceof ApiError && query.error.status === 404) {
    return <Empty page title={words.goneTitle} action={<Link href={paths.joining()}>{words.toJoining}</Link>}>{words.goneText}</Empty>;
  }
  if (query.error && !query.data) return <WizardFrame step={2}><Notice explained={explain.error(query.error)} /></WizardFrame>;
  if (!query.data) return <WizardFrame step={2}><Placeholder rows={8} /></WizardFrame>;
  const registration = query.data;
  return (
    <WizardFrame step={2} cluster={registration.clusterName} actions={<CancelButton registration={registration} />}>
      {registration.state === 'ready' && registration.clusterName
        ? <ReadyPanel name={registration.clusterName} />
        : <Underway registration={registration} />}
      <Section title={words.progress}>
        <Progress registration={registration} again={<Again registration={registration} />} />
      </Section>
      {registration.log && registration.log.length > 0 && <LogPanel log={registration.log} />}
      {registration.flavour !== 'push' && (registration.state === 'waiting' || registration.state === 'running' || registration.state === 'failed') && <DecodeBox id={id} />}
    </WizardFrame>
  );
}

/** What stands above the stages until the cluster is ready: the command, or why there is none any more. */
function Underway({ registration }: { registration: Registration }) {
  const words = useWords(registrationWords);
  switch (registration.state) {
    case 'cancelled': return <Notice tone="warn" title={words.cancelled} action={<Again registration={registration} />} />;
    case 'expired': return <Notice tone="warn" title={words.states.expired} action={<Again registration={registration} />}>{words.expiredText}</Notice>;
    // The failed stage says why; the command may be run again once that is mended.
    case 'failed': return issuedFor(registration.id) ? <CommandPanel registration={registration} again={null} /> : null;
    default:
      // Once the cluster has called, a command that nobody can show any more is of no use.
      return registration.flavour === 'pull' && (registration.state === 'waiting' || issuedFor(registration.id))
        ? <CommandPanel registration={registration} again={<Again registration={registration} />} /> : null;
  }
}

function CancelButton({ registration }: { registration: Registration }) {
  const words = useWords(registrationWords);
  const may = useMay('operator');
  const cancel = useMutation(cancelRegistration);
  if (registration.state !== 'waiting' && registration.state !== 'running') return null;
  return <Button variant="default" aria-label={words.cancelNamed} disabled={!may} title={may ? undefined : words.needRole} loading={cancel.isPending} onClick={() => cancel.mutate(registration.id)}>{words.cancel}</Button>;
}

/** What was asked for, as the hub remembers it: a reload forgets what was typed. */
function sameAgain({ clusterName, labels, placement, createdAt, expiresAt }: Registration): NewRegistration {
  const life = expiresAt ? Math.round((Date.parse(expiresAt) - Date.parse(createdAt)) / 1000) : undefined;
  return { flavour: 'pull', clusterName, labels, ...placement, ttlSeconds: life };
}

/** Another try with the same answers: a fresh command for pull, the form again for push, whose kubeconfig nobody kept. */
function Again({ registration }: { registration: Registration }) {
  const words = useWords(registrationWords);
  const explain = useExplain();
  const may = useMay('operator');
  const [, navigate] = useLocation();
  const cancel = useMutation(cancelRegistration);
  const start = useMutation(startPull);
  if (registration.flavour === 'push') return <Link href={`${paths.addCluster()}?how=push&step=details`} className={styles['again']}>{words.pushAgain}</Link>;
  const renew = async () => {
    const request = issuedFor(registration.id)?.request ?? sameAgain(registration);
    // The old token first: two valid commands for one cluster are one too many.
    if (registration.state === 'waiting' || registration.state === 'running') await cancel.mutateAsync(registration.id);
    const next = await start.mutateAsync(request);
    navigate(paths.registration(next.id), { replace: true });
  };
  const error = cancel.error ?? start.error;
  return (
    <div className={styles['renew']}>
      <Button variant="default" disabled={!may} loading={cancel.isPending || start.isPending} onClick={() => void renew().catch(() => undefined)}>{words.again}</Button>
      {error && <Notice explained={explain.error(error)} />}
    </div>
  );
}
