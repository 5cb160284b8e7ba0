import '@mantine/core/styles/Overlay.layer.css';
import '@mantine/core/styles/Paper.layer.css';
import '@mantine/core/styles/ModalBase.layer.css';
import '@mantine/core/styles/Drawer.layer.css';
import { Drawer } from '@mantine/core';
import IconDevices from '@tabler/icons-react/dist/esm/icons/IconDevices.mjs';
import IconLogout from '@tabler/icons-react/dist/esm/icons/IconLogout.mjs';
import type { ComponentType } from 'react';
import { Link } from 'wouter';
import { useSession } from '@/api/session';
import { useSignOut } from '@/api/signout';
import { useWords } from '@/shared/hooks/useWords';
import { uiWords } from '@/shared/ui/words';
import { paths } from '../paths';
import { appWords } from '../words';
import styles from './MoreSheet.module.css';
import { LanguageButton, ThemeButton } from './Switches';

interface MoreSheetProps {
  links: { href: string; label: string; icon: ComponentType<{ size?: number; stroke?: number }> }[];
  onClose: () => void;
}

/** At phone width: what the bottom bar has no room for. */
export default function MoreSheet({ links, onClose }: MoreSheetProps) {
  const words = useWords(appWords);
  const ui = useWords(uiWords);
  const { user } = useSession();
  const signOut = useSignOut();
  return (
    <Drawer.Root classNames={{ content: styles['content'] }} opened position="bottom" size="auto" onClose={onClose}>
      <Drawer.Overlay />
      <Drawer.Content>
        <Drawer.Header role="presentation">
          <Drawer.Title>{user.name} · {words.roles[user.role]}</Drawer.Title>
          <Drawer.CloseButton aria-label={ui.close} />
        </Drawer.Header>
        <Drawer.Body>
          <div className={styles['sheet']}>
            {links.map(({ href, label, icon: Icon }) => (
              <Link key={href} href={href} className={styles['row']} onClick={onClose}><Icon size={20} stroke={1.75} />{label}</Link>
            ))}
            <Link href={paths.sessions()} className={styles['row']} onClick={onClose}><IconDevices size={20} stroke={1.75} />{words.sessions}</Link>
            <button type="button" className={styles['row']} onClick={signOut}><IconLogout size={20} stroke={1.75} />{words.signOut}</button>
            <div className={styles['switches']}><LanguageButton /><ThemeButton /></div>
          </div>
        </Drawer.Body>
      </Drawer.Content>
    </Drawer.Root>
  );
}
