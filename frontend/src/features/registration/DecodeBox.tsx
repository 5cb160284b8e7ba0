import { Button, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { Fold } from '@/shared/ui/Fold';
import { Notice } from '@/shared/ui/Notice';
import { decodeOutput } from './queries';
import styles from './RegistrationPage.module.css';
import { registrationWords } from './words';

/** For failures that never reached the hub: what the terminal printed says why. */
export function DecodeBox({ id }: { id: string }) {
  const words = useWords(registrationWords);
  const explain = useExplain();
  const [text, setText] = useState('');
  const decode = useMutation(decodeOutput(id));
  return (
    <Fold summary={words.nothing}>
      <div className={styles['decode']}>
        <Textarea aria-label={words.pasted} placeholder={words.pasted} rows={5} classNames={{ input: 'mono' }} autoComplete="off" spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />
        <Button variant="default" disabled={!text.trim()} loading={decode.isPending} onClick={() => decode.mutate(text)}>{words.explain}</Button>
        {decode.error && <Notice explained={explain.error(decode.error)} />}
        {decode.data && (decode.data.code
          ? <Notice tone="warn" explained={explain.failure(decode.data)} />
          : <Notice tone="info" title={words.noMatch} />)}
      </div>
    </Fold>
  );
}
