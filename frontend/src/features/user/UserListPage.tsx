import { Button } from '@mantine/core';
import IconPlus from '@tabler/icons-react/dist/esm/icons/IconPlus.mjs';
import { Suspense, useMemo } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { Page, User } from '@/api/model';
import { useMay, useSession } from '@/api/session';
import { useLiveList } from '@/api/useLiveList';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { Age } from '@/shared/ui/Age';
import { Empty } from '@/shared/ui/Empty';
import { Listing } from '@/shared/ui/Listing';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import { type Column } from '@/shared/ui/Rows';
import { StateMark } from '@/shared/ui/StateMark';
import { userList } from './queries';
import { UserActions } from './UserActions';
import { userWords } from './words';

const CreateDialog = part(() => import('./CreateDialog'));
const ResetDialog = part(() => import('./ResetDialog'));
const DeleteDialog = part(() => import('./DeleteDialog'));
const keyOf = (user: User) => user.name;

export default function UserListPage() {
  const words = useWords(userWords);
  return useMay('admin') ? <UserList /> : (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} below={words.text} />
      <Notice tone="warn" title={words.needAdmin}><p>{words.askAdmin} <Link href={paths.sessions()}>{words.toSessions}</Link></p></Notice>
    </div>
  );
}

/** Who may sign in. The dialogs live in the address. */
function UserList() {
  const words = useWords(userWords);
  const me = useSession().user.name;
  const [search, setSearch] = useSearchParams();
  const list = useLiveList<User, Page<User>>(userList);
  const columns = useMemo<Column<User>[]>(() => [
    { key: 'name', label: words.name, card: 'title', cell: (user) => <>{user.name}{user.name === me && <span className="dim"> ({words.you})</span>}</> },
    { key: 'state', label: words.state, card: 'corner', cell: (user) => (user.disabled ? <StateMark tone="unknown">{words.disabled}</StateMark> : user.mustChangePassword ? <StateMark tone="warn">{words.mustChange}</StateMark> : <StateMark tone="ok">{words.active}</StateMark>) },
    { key: 'role', label: words.role, cell: (user) => words.roles[user.role] },
    { key: 'seen', label: words.seen, cell: (user) => <Age at={user.lastSeenAt} ago /> },
    { key: 'age', label: words.age, right: true, minor: true, cell: (user) => <Age at={user.createdAt} /> },
    { key: 'actions', label: words.actions, quiet: true, right: true, card: 'foot', cell: (user) => <UserActions user={user} self={user.name === me} onReset={() => setSearch({ reset: user.name })} onDelete={() => setSearch({ delete: user.name })} /> },
  ], [words, me, setSearch]);
  const create = <Button leftSection={<IconPlus size={16} aria-hidden="true" />} onClick={() => setSearch({ create: '1' })}>{words.create}</Button>;
  const close = () => setSearch({}, { replace: true });
  const resetting = search.get('reset');
  const deleting = search.get('delete');
  return (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} below={words.text} actions={create} />
      <Listing list={list} caption={words.title} columns={columns} rowKey={keyOf} empty={<Empty title={words.emptyTitle}>{words.emptyText}</Empty>} />
      <Suspense>
        {search.has('create') && <CreateDialog onClose={close} />}
        {resetting && <ResetDialog name={resetting} onClose={close} />}
        {deleting && <DeleteDialog name={deleting} onClose={close} />}
      </Suspense>
    </div>
  );
}
