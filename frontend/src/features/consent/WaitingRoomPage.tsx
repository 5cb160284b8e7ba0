import { Button, TextInput } from '@mantine/core';
import { type ReactNode, Suspense, useCallback, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { Page, WaitingRow } from '@/api/model';
import { useMay } from '@/api/session';
import { useLiveList } from '@/api/useLiveList';
import { paths } from '@/app/paths';
import { useText } from '@/shared/hooks/useText';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { Choice } from '@/shared/ui/Choice';
import { Empty } from '@/shared/ui/Empty';
import { Fresh } from '@/shared/ui/Fresh';
import type { ListState } from '@/shared/ui/Listing';
import { More } from '@/shared/ui/More';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import { Placeholder } from '@/shared/ui/Placeholder';
import { uiWords } from '@/shared/ui/words';
import { BulkBar } from './BulkBar';
import { ConsentCard } from './ConsentCard';
import { type Decision, waitingList } from './queries';
import styles from './WaitingRoomPage.module.css';
import { consentWords } from './words';

const DecideDialog = part(() => import('./DecideDialog'));

/** Who waits for a consent, first those who do; decided ones stay for a day. */
export default function WaitingRoomPage({ tabs }: { tabs: ReactNode }) {
  const words = useWords(consentWords);
  const [search, setSearch] = useSearchParams();
  const state = search.get('state') ?? '';
  const q = search.get('q') ?? '';
  const set = (next: { state: string; q: string }) => setSearch(Object.fromEntries(Object.entries(next).filter(([, value]) => value)), { replace: true });
  const [text, setText] = useText(q, (typed) => set({ state, q: typed }));
  const list = useLiveList<WaitingRow, Page<WaitingRow>>(waitingList(state, q));
  const bring = useMay('operator')
    ? <Button component={Link} href={paths.introduceCluster()}>{words.bring}</Button>
    : <Button disabled title={words.needRole}>{words.bring}</Button>;
  const empty = state || q
    ? <Empty title={words.noneTitle} action={<Button variant="default" onClick={() => set({ state: '', q: '' })}>{words.clear}</Button>}>{words.noneText}</Empty>
    : <Empty title={words.emptyTitle} action={bring}>{words.emptyText}</Empty>;
  return (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} below={words.text} actions={list.rows.length > 0 && bring} />
      {tabs}
      <div className={styles['tools']}>
        <Choice label={words.filterLabel} options={Object.entries(words.filters)} chosen={state} onChoose={(next) => set({ state: next, q })} />
        <TextInput className={styles['search']} aria-label={words.search} placeholder={words.search} autoComplete="off" spellCheck={false} value={text} onChange={(event) => setText(event.currentTarget.value)} />
      </div>
      <Room list={list} empty={empty} />
    </div>
  );
}

/** The list in whatever state it is, and the decision under way. */
function Room({ list, empty }: { list: ListState<WaitingRow>; empty: ReactNode }) {
  const words = useWords(consentWords);
  const ui = useWords(uiWords);
  const may = useMay('operator');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [decision, setDecision] = useState<Decision>();
  const choose = useCallback((cluster: string, on: boolean) => setChosen((before) => {
    const next = new Set(before);
    if (on) next.add(cluster);
    else next.delete(cluster);
    return next;
  }), []);
  if (list.explained) return <Notice explained={list.explained} action={<Button variant="default" onClick={list.retry}>{ui.retry}</Button>} />;
  if (list.pending) return <Placeholder />;
  if (list.rows.length === 0 && !list.changing) return <><Fresh count={list.fresh} onShow={list.retry} />{empty}</>;
  const waiting = list.rows.filter((row) => row.waits);
  // A row that was decided meanwhile is chosen no more.
  const rows = waiting.filter((row) => chosen.has(row.cluster));
  const close = () => { setDecision(undefined); setChosen(new Set()); };
  return (
    <div aria-busy={list.changing} className={styles['room']} data-stale={list.stale || undefined}>
      <Fresh count={list.fresh} onShow={() => { window.scrollTo({ top: 0 }); list.retry(); }} />
      {may && waiting.length > 1 && <BulkBar waiting={waiting} chosen={rows} onChoose={(all) => setChosen(new Set(all ? waiting.map((row) => row.cluster) : []))} onDecide={setDecision} />}
      <ul className={styles['list']} aria-label={words.title}>
        {list.rows.map((row) => <li key={row.cluster}><ConsentCard row={row} onDecide={setDecision} chosen={waiting.length > 1 ? chosen.has(row.cluster) : undefined} onChoose={choose} /></li>)}
      </ul>
      <More shown={list.rows.length} total={list.total} hasMore={list.hasMore} loading={list.loadingMore} onMore={list.more} />
      <Suspense>{decision && <DecideDialog decision={decision} onClose={close} />}</Suspense>
    </div>
  );
}
