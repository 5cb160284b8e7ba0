import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { Link, useSearch } from 'wouter';
import { useExplain } from '@/api/errors';
import { useFollow } from '@/api/hub';
import type { WaitingRow } from '@/api/model';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { Fold } from '@/shared/ui/Fold';
import { Notice } from '@/shared/ui/Notice';
import { Placeholder } from '@/shared/ui/Placeholder';
import { Section } from '@/shared/ui/Section';
import { type StageItem, StageList } from '@/shared/ui/StageList';
import { StateMark } from '@/shared/ui/StateMark';
import { CommandPanel } from './CommandPanel';
import { ConsentCard } from './ConsentCard';
import { Frame } from './Frame';
import styles from './IntroducePage.module.css';
import { type Decision, madeFor, type Mode, modes, waitingRow } from './queries';
import { type Stage, stagesOf } from './stages';
import { canAccept, canApprove } from './state';
import { consentWords } from './words';
import type { ConsentWords } from './words.en';

const DecideDialog = part(() => import('./DecideDialog'));

/** The wizard's last step, followed live from the commands to an available cluster. The name in the address survives a reload. */
export default function IntroducedPage({ cluster }: { cluster: string }) {
  const words = useWords(consentWords);
  const explain = useExplain();
  const [decision, setDecision] = useState<Decision>();
  // The address remembers where the agents run; the token, nothing may.
  const mode = modeOf(useSearch());
  useFollow('waiting');
  const query = useQuery(waitingRow(cluster));
  if (query.error && !query.data) return <Frame step={2} cluster={cluster}><Notice explained={explain.error(query.error)} /></Frame>;
  if (!query.data) return <Frame step={2} cluster={cluster}><Placeholder rows={8} /></Frame>;
  const row = query.data;
  const seen = row.exists || row.requests.length > 0;
  const asked = canApprove(row) || canAccept(row);
  return (
    <Frame step={2} cluster={cluster} actions={<Button variant="default" component={Link} href={paths.waiting()}>{words.room}</Button>}>
      {row.joined && row.available === 'True' && !row.waits && <Ready row={row} />}
      {!seen && <CommandPanel cluster={cluster} mode={mode} />}
      {seen && asked && !row.denied && <p>{words.compare}</p>}
      {seen && <ConsentCard row={row} onDecide={setDecision} />}
      <Section title={words.progress}>
        <StageList label={words.progress} stages={stagesOf(row, madeFor(cluster)?.at).map((stage) => itemOf(words, stage))} />
      </Section>
      {seen && !row.joined && madeFor(cluster) && <Fold summary={words.command}><CommandPanel cluster={cluster} mode={mode} /></Fold>}
      <Suspense>{decision && <DecideDialog decision={decision} onClose={() => setDecision(undefined)} />}</Suspense>
    </Frame>
  );
}

function modeOf(search: string): Mode {
  const wanted = new URLSearchParams(search).get('mode');
  return modes.find((mode) => mode === wanted) ?? 'default';
}

function itemOf(words: ConsentWords, { name, state, at, waits, aside, failure }: Stage): StageItem {
  const told = failure && { refused: { what: words.refusedHere }, denied: { what: words.deniedHere, fix: words.deniedFix }, unavailable: { what: words.notAvailable }, lost: { what: words.outOfReach } }[failure];
  return {
    key: name, label: words.stages[name], state, spoken: words.stageStates[state], at, failure: told,
    aside: waits ? (waits === 'you' ? words.waitsForYou : words.waitsForAgent) : aside,
  };
}

/** The end: what the agent reports, and what one does next. */
function Ready({ row }: { row: WaitingRow }) {
  const words = useWords(consentWords);
  return (
    <section className={styles['ready']} role="status">
      <h2><StateMark tone="ok" />{words.readyTitle(row.cluster)}</h2>
      <p>{row.version ? words.readyText(row.version) : words.readyPlain}</p>
      <div className={styles['links']}>
        <Button component={Link} href={paths.managedCluster(row.cluster)}>{words.openCluster(row.cluster)}</Button>
        <Button variant="default" component={Link} href={paths.introduceCluster()}>{words.another}</Button>
        <Button variant="default" component={Link} href={paths.managedClusters()}>{words.fleet}</Button>
      </div>
    </section>
  );
}
