import '@mantine/core/styles/Popover.layer.css';
import '@mantine/core/styles/Menu.layer.css';
import { ActionIcon, Menu } from '@mantine/core';
import IconDots from '@tabler/icons-react/dist/esm/icons/IconDots.mjs';
import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import type { Role, User } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import { changeUser } from './queries';
import { userWords } from './words';

const roles: Role[] = ['admin', 'operator', 'viewer'];

interface UserActionsProps {
  user: User;
  self: boolean;
  onReset: () => void;
  onDelete: () => void;
}

/** What an administrator can do to one user; nobody can lock himself out here. */
export function UserActions({ user, self, onReset, onDelete }: UserActionsProps) {
  const words = useWords(userWords);
  const explain = useExplain();
  const change = useMutation(changeUser(user.name));
  return (
    <>
      {change.error && <span role="alert" className="small">{explain.error(change.error).what} </span>}
      <Menu position="bottom-end" width={260}>
        <Menu.Target><ActionIcon aria-label={words.actionsFor(user.name)} loading={change.isPending}><IconDots size={16} /></ActionIcon></Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{words.role}</Menu.Label>
          {roles.map((role) => (
            <Menu.Item key={role} disabled={self || role === user.role} onClick={() => change.mutate({ role })}>
              {words.roles[role]}<br /><span className="dim small">{words.roleTexts[role]}</span>
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item onClick={onReset} disabled={self}>{words.reset}</Menu.Item>
          <Menu.Item onClick={() => change.mutate({ disabled: !user.disabled })} disabled={self}>{user.disabled ? words.enable : words.disable}</Menu.Item>
          <Menu.Item color="red" onClick={onDelete} disabled={self}>{words.remove}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}
