import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { infoOptions } from '@/api/hub';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import { appWords } from '../words';
import styles from './StaleBanner.module.css';

/** Says that the hub is of another version than when the page was opened. */
export function UpgradeBanner() {
  const words = useWords(appWords);
  const { data } = useQuery(infoOptions);
  const [opened, setOpened] = useState(data?.version);
  if (!opened && data) setOpened(data.version);
  if (!data || !opened || data.version === opened) return null;
  return (
    <div className={styles['banner']}>
      <Notice tone="info" title={words.upgraded(opened, data.version)} action={<Button variant="default" onClick={() => location.reload()}>{words.reload}</Button>}>
        <p>{words.upgradedText}</p>
      </Notice>
    </div>
  );
}
