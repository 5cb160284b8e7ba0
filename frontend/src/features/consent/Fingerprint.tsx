import { CopyButton } from '@/shared/ui/CopyButton';
import { useWords } from '@/shared/hooks/useWords';
import styles from './Fingerprint.module.css';
import { fingerprintParts } from './state';
import { consentWords } from './words';

/** A public key's fingerprint in groups that eyes can compare; copied, it is one word as the agent prints it. */
export function Fingerprint({ value }: { value: string }) {
  const words = useWords(consentWords);
  return (
    <span className={styles['fingerprint']}>
      <span className={styles['text']}>
        <span className="dim small">{words.fingerprint}</span>
        <code className={styles['digest']}>{fingerprintParts(value).map((part, index) => <span key={index}>{part}</span>)}</code>
      </span>
      <CopyButton text={value} what={words.fingerprint} />
    </span>
  );
}
