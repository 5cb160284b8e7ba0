import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { useExplain } from '@/api/errors';
import type { Page, Session } from '@/api/model';
import { useLiveList } from '@/api/useLiveList';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Dialog } from '@/shared/ui/Dialog';
import { Listing } from '@/shared/ui/Listing';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import type { Column } from '@/shared/ui/Rows';
import { StateMark } from '@/shared/ui/StateMark';
import { browserOf } from './browser';
import { PasswordForm } from './PasswordForm';
import { endOneSession, sessionList } from './queries';
import { sessionWords } from './words';

/** Where the user is signed in, with a way to end each, and the password dialog. */
export default function SessionListPage() {
  const words = useWords(sessionWords);
  const explain = useExplain();
  const [search, setSearch] = useSearchParams();
  const [saved, setSaved] = useState(false);
  const list = useLiveList<Session, Page<Session>>(sessionList, false);
  const end = useMutation(endOneSession);
  const name = (session: Session) => {
    const { browser, system } = browserOf(session.agent);
    return system ? words.on(browser, system) : browser;
  };
  const columns: Column<Session>[] = [
    { key: 'agent', label: words.browser, card: 'title', cell: (session) => <span title={session.agent}>{name(session)}</span> },
    { key: 'address', label: words.address, cell: (session) => <code>{session.address}</code> },
    { key: 'created', label: words.created, minor: true, cell: (session) => <Age at={session.createdAt} ago /> },
    { key: 'seen', label: words.seen, cell: (session) => <Age at={session.lastSeenAt} ago /> },
    {
      key: 'end', label: words.end, quiet: true, right: true, card: 'corner', cell: (session) => (session.current
        ? <StateMark tone="ok">{words.thisOne}</StateMark>
        : <Button variant="default" size="compact-sm" aria-label={words.endNamed(name(session), session.address)} onClick={() => end.mutate(session.id)}>{words.end}</Button>),
    },
  ];
  const close = () => setSearch((all) => { all.delete('password'); return all; });
  return (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} below={words.text} actions={<Button variant="default" onClick={() => setSearch({ password: '1' })}>{words.change}</Button>} />
      {saved && <Notice tone="info" title={words.saved} />}
      {end.error && <Notice explained={explain.error(end.error)} />}
      <Listing list={list} caption={words.title} columns={columns} rowKey={(session) => session.id} empty={null} />
      {search.has('password') && <Dialog onClose={close} title={words.changeTitle}>
        <PasswordForm onSaved={() => { setSaved(true); close(); }} />
      </Dialog>}
    </div>
  );
}
