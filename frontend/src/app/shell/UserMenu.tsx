import '@mantine/core/styles/Popover.layer.css';
import '@mantine/core/styles/Menu.layer.css';
import { Menu, UnstyledButton } from '@mantine/core';
import IconChevronDown from '@tabler/icons-react/dist/esm/icons/IconChevronDown.mjs';
import IconDevices from '@tabler/icons-react/dist/esm/icons/IconDevices.mjs';
import IconLock from '@tabler/icons-react/dist/esm/icons/IconLock.mjs';
import IconLogout from '@tabler/icons-react/dist/esm/icons/IconLogout.mjs';
import { Link } from 'wouter';
import { useSession } from '@/api/session';
import { useSignOut } from '@/api/signout';
import { useWords } from '@/shared/hooks/useWords';
import { paths } from '../paths';
import { appWords } from '../words';
import styles from './UserMenu.module.css';

/** Who is signed in, and what concerns only that person. */
export default function UserMenu() {
  const words = useWords(appWords);
  const { user } = useSession();
  const signOut = useSignOut();
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <UnstyledButton className={styles['user']} aria-label={words.account(user.name)}>
          <span className={styles['name']}>{user.name}</span><IconChevronDown size={16} aria-hidden="true" />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{user.name} · {words.roles[user.role]}</Menu.Label>
        <Menu.Item component={Link} href={paths.sessions()} leftSection={<IconDevices size={16} />}>{words.sessions}</Menu.Item>
        <Menu.Item component={Link} href={`${paths.sessions()}?password=1`} leftSection={<IconLock size={16} />}>{words.password}</Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={signOut}>{words.signOut}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
