import { type ReactNode, useState } from 'react';
import type { Registration } from '@/api/model';
import { useLoopback } from '@/api/useLoopback';
import { useNow } from '@/shared/hooks/useNow';
import { useWords } from '@/shared/hooks/useWords';
import { CommandBlock } from '@/shared/ui/CommandBlock';
import { Fold } from '@/shared/ui/Fold';
import { Notice } from '@/shared/ui/Notice';
import { Section } from '@/shared/ui/Section';
import { folded } from '@/shared/ui/shell';
import { TabBar } from '@/shared/ui/TabBar';
import { countdown } from '@/shared/ui/time';
import { uiWords } from '@/shared/ui/words';
import { issuedFor } from './queries';
import styles from './RegistrationPage.module.css';
import { registrationWords } from './words';

const tools = ['muster', 'manifest', 'karmadactl'] as const;

/** The command to run in the cluster, in three dialects, with how long it still works. After a reload the token is gone for good. */
export function CommandPanel({ registration, again }: { registration: Registration; again: ReactNode }) {
  const words = useWords(registrationWords);
  const loopback = useLoopback();
  const issued = issuedFor(registration.id);
  const [tool, setTool] = useState<typeof tools[number]>('muster');
  const expiresAt = registration.expiresAt ?? issued?.expiresAt;
  const commands = issued?.commands;
  return (
    <Section title={words.run}>
      {commands ? (
        <>
          {loopback && <Notice tone="warn" title={words.loopback(loopback)}>{words.loopbackText}</Notice>}
          <TabBar label={words.tabsLabel} panel="command" chosen={tool} tabs={tools.map((key) => ({ key, label: words.tabs[key] }))} onChoose={(key) => setTool(tools.find((one) => one === key) ?? 'muster')} />
          <div role="tabpanel" id="command" aria-labelledby={`command-${tool}`}>
            <p className={styles['hint']}>{words.toolHints[tool]}</p>
            <CommandBlock key={tool} text={tool === 'manifest' ? commands[tool] : folded(commands[tool])} secret={issued.secret} what={words.command} />
          </div>
        </>
      ) : <Notice tone="info" title={words.secretGone} action={again} />}
      <div className={styles['meta']}>
        <span className="dim">
          {[expiresAt && <Left key="left" at={expiresAt} />, issued && (issued.request.anyCluster ? words.severalClusters : words.oneCluster), registration.clusterName && words.forName(registration.clusterName)]
            .filter(Boolean).map((part, index) => <span key={index}>{index > 0 && ' · '}{part}</span>)}
        </span>
        {commands && again}
      </div>
      <Fold summary={words.creates}>
        <p className="dim">{words.createsText}</p>
      </Fold>
    </Section>
  );
}

function Left({ at }: { at: string }) {
  const words = useWords(registrationWords);
  const units = useWords(uiWords);
  const left = Date.parse(at) - useNow();
  return <span role="timer">{left > 0 ? words.valid(countdown(units, left)) : words.expired}</span>;
}
