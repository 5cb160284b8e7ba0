import { Suspense } from 'react';
import { useLocation } from 'wouter';
import { useFollow, useLiveSocket } from '@/api/hub';
import { useMay } from '@/api/session';
import { useNarrow } from '@/shared/hooks/useNarrow';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { Logo } from '@/shared/ui/Logo';
import { Boundary } from '../Boundary';
import { Routes } from '../routes';
import { appWords } from '../words';
import { Crumbs } from './Crumbs';
import { LiveIndicator } from './LiveIndicator';
import { BottomBar, Rail } from './Nav';
import styles from './Shell.module.css';
import { StaleBanner } from './StaleBanner';
import { UpgradeBanner } from './UpgradeBanner';
import { useArrival } from './useArrival';
import { LanguageButton, ThemeButton } from './Switches';

const UserMenu = part(() => import('./UserMenu'));

/** The frame of every page: rail and header, at phone width a header and a bottom bar. */
export function Shell() {
  const words = useWords(appWords);
  const narrow = useNarrow();
  const [location] = useLocation();
  useLiveSocket();
  useArrival('content');
  const operator = useMay('operator');
  useFollow(operator ? 'registrations' : '');
  useFollow(operator ? 'waiting' : '');
  return (
    <div className={styles['shell']}>
      <a className={styles['skip']} href="#content">{words.skip}</a>
      {!narrow && <Rail />}
      <div className={styles['column']}>
        <header className={styles['header']}>
          {narrow && <Logo />}
          <Crumbs />
          <LiveIndicator />
          {!narrow && <LanguageButton />}
          {!narrow && <ThemeButton />}
          {!narrow && <Suspense fallback={<span className={styles['userRoom']} />}><UserMenu /></Suspense>}
        </header>
        <main id="content" tabIndex={-1} className={styles['content']}>
          <StaleBanner />
          <UpgradeBanner />
          <Boundary at={location}><Routes /></Boundary>
        </main>
      </div>
      {narrow && <BottomBar />}
    </div>
  );
}
