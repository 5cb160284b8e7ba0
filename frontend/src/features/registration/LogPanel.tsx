import { useEffect, useRef } from 'react';
import type { Registration } from '@/api/model';
import { useSay } from '@/api/said';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { Section } from '@/shared/ui/Section';
import { clock } from '@/shared/ui/time';
import styles from './RegistrationPage.module.css';
import { registrationWords } from './words';

/** What the hub does, line by line; it scrolls along unless the reader scrolled up. */
export function LogPanel({ log }: { log: NonNullable<Registration['log']> }) {
  const words = useWords(registrationWords);
  const { language } = useLanguage();
  const say = useSay();
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (atEnd.current) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [log.length]);
  const watch = () => {
    const pre = box.current;
    if (pre) atEnd.current = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 24;
  };
  return (
    <Section title={words.log}>
      <pre ref={box} className={styles['log']} onScroll={watch} tabIndex={0} aria-label={words.log}>
        {log.map((line) => `${clock(language, line.at)}  ${say(line.line)}\n`)}
      </pre>
    </Section>
  );
}
