import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useExplain } from '@/api/errors';
import { useMay } from '@/api/session';
import { useLoopback } from '@/api/useLoopback';
import { useNow } from '@/shared/hooks/useNow';
import { useWords } from '@/shared/hooks/useWords';
import { CommandBlock } from '@/shared/ui/CommandBlock';
import { Fold } from '@/shared/ui/Fold';
import { Notice } from '@/shared/ui/Notice';
import { Section } from '@/shared/ui/Section';
import { TabBar } from '@/shared/ui/TabBar';
import { countdown } from '@/shared/ui/time';
import { uiWords } from '@/shared/ui/words';
import styles from './IntroducePage.module.css';
import { introduce, madeFor, type Mode } from './queries';
import { consentWords } from './words';

const tools = ['clusteradm', 'manifest', 'agent'] as const;

/** How the cluster introduces itself, in three ways. After a reload the token is gone for good. */
export function CommandPanel({ cluster, mode }: { cluster: string; mode: Mode }) {
  const words = useWords(consentWords);
  const [tool, setTool] = useState<typeof tools[number]>('clusteradm');
  const loopback = useLoopback();
  const made = madeFor(cluster);
  if (!made) return <Section title={mode === 'hosted' ? words.runHosted : words.run}><Notice tone="info" title={words.gone} action={<Again cluster={cluster} mode={mode} />} /></Section>;
  const hosted = made.request.mode === 'hosted';
  return (
    <Section title={hosted ? words.runHosted : words.run}>
      {loopback && !made.request.serverUrl && <Notice tone="warn" title={words.loopback(loopback)}>{words.loopbackText}</Notice>}
      <TabBar label={words.tabsLabel} panel="introduce" chosen={tool} tabs={tools.map((key) => ({ key, label: words.tabs[key] }))} onChoose={(key) => setTool(tools.find((one) => one === key) ?? 'clusteradm')} />
      <div role="tabpanel" id="introduce" aria-labelledby={`introduce-${tool}`} className={styles['panel']}>
        {tool === 'clusteradm' && <CommandBlock text={made.command} secret={made.secret} what={words.command} />}
        {tool === 'manifest' && (
          <>
            <p className="dim">{words.manifestText}</p>
            <CommandBlock text={made.manifest} secret={made.secret} what={words.manifest} />
            {made.manifestSteps && <><p>{words.then}</p><CommandBlock text={made.manifestSteps} what={words.then} /></>}
          </>
        )}
        {tool === 'agent' && <><p className="dim">{words.agentText}</p><CommandBlock text={made.agentCommand} secret={made.secret} what={words.command} /></>}
        {hosted && <p className="dim">{words.managedHint}</p>}
        <Fold summary={words.acceptHint}>
          <CommandBlock text={made.acceptCommand} what={words.acceptHint} />
        </Fold>
      </div>
      <div className={styles['meta']}><Left at={made.expiresAt} /><Again cluster={cluster} mode={mode} /></div>
    </Section>
  );
}

function Left({ at }: { at: string }) {
  const words = useWords(consentWords);
  const units = useWords(uiWords);
  const left = Date.parse(at) - useNow();
  return <span role="timer" className="dim">{left > 0 ? words.valid(countdown(units, left)) : words.expired}</span>;
}

/** Another token with the same answers. */
function Again({ cluster, mode }: { cluster: string; mode: Mode }) {
  const words = useWords(consentWords);
  const explain = useExplain();
  const may = useMay('operator');
  const start = useMutation(introduce);
  return (
    <>
      <Button variant="default" disabled={!may} title={may ? undefined : words.needRole} loading={start.isPending} onClick={() => start.mutate(madeFor(cluster)?.request ?? { clusterName: cluster, mode })}>{words.again}</Button>
      {start.error && <Notice explained={explain.error(start.error)} />}
    </>
  );
}
