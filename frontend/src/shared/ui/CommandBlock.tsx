import { Button } from '@mantine/core';
import IconEye from '@tabler/icons-react/dist/esm/icons/IconEye.mjs';
import IconEyeOff from '@tabler/icons-react/dist/esm/icons/IconEyeOff.mjs';
import { useState } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import styles from './CommandBlock.module.css';
import { CopyButton } from './CopyButton';
import { uiWords } from './words';

/** The part of a secret that stays hidden: all behind the first dot, as in "id.secret". */
export function masked(text: string, secret: string): string {
  if (!secret) return text;
  const dot = secret.indexOf('.');
  const hidden = secret.slice(dot + 1);
  return text.replaceAll(hidden, '•'.repeat(Math.min(hidden.length, 24)));
}

/** Long runs of base64, such as a certificate, cut down to what tells them apart. Nobody reads them. */
export function shortened(text: string): string {
  return text.replace(/[A-Za-z0-9+/]{160,}={0,2}/g, (run) => `${run.slice(0, 24)}…${run.slice(-12)}`);
}

/** A command to run elsewhere, in one piece to copy; a secret in it is masked until asked for, and what nobody reads is cut short. */
export function CommandBlock({ text, secret = '', what }: { text: string; secret?: string; what: string }) {
  const words = useWords(uiWords);
  const [shown, setShown] = useState(false);
  return (
    <figure className={styles['block']}>
      <pre className={styles['text']} aria-label={what} tabIndex={0}>{shown ? text : shortened(masked(text, secret))}</pre>
      <div className={styles['tools']}>
        <CopyButton text={text} />
        {(secret || shortened(text) !== text) && (
          <Button
            variant="default" size="compact-sm" aria-pressed={shown} onClick={() => setShown(!shown)}
            leftSection={shown ? <IconEyeOff size={16} /> : <IconEye size={16} />}
          >
            {shown ? words.hide : words.show}
          </Button>
        )}
      </div>
    </figure>
  );
}
