import { Button, Textarea } from '@mantine/core';
import { type DragEvent, type ReactNode, useRef, useState } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { CommandBlock } from '@/shared/ui/CommandBlock';
import styles from './AddClusterPage.module.css';
import { registrationWords } from './words';

/** A place to paste a kubeconfig or drop its file. Browsers must not remember what is typed here. */
export function KubeconfigInput({ value, error, onChange }: { value: string; error: ReactNode; onChange: (text: string) => void }) {
  const words = useWords(registrationWords);
  const [over, setOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const read = async (file: File | undefined) => {
    if (file) onChange(await file.text());
  };
  const drop = (event: DragEvent) => {
    setOver(false);
    const file = event.dataTransfer.files[0];
    if (!file) return;
    event.preventDefault();
    void read(file);
  };
  return (
    <div className={styles['drop']} data-over={over || undefined} onDragOver={(event) => { event.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)} onDrop={drop}>
      <Textarea
        label={words.kubeconfig} description={over ? words.dropHere : words.kubeconfigHint} error={error} rows={10} classNames={{ input: 'mono' }}
        autoComplete="off" autoCorrect="off" autoCapitalize="off" spellCheck={false} data-1p-ignore data-lpignore="true" data-form-type="other"
        value={value} onChange={(event) => onChange(event.target.value)} autoFocus
      />
      <div className={styles['tools']}>
        <Button variant="default" size="compact-sm" onClick={() => picker.current?.click()}>{words.choose}</Button>
        <input ref={picker} type="file" className="hidden" tabIndex={-1} aria-label={words.choose} onChange={(event) => { void read(event.target.files?.[0]); event.target.value = ''; }} />
      </div>
      <div className={styles['from']}>
        <p className="dim small">{words.kubeconfigFrom}</p>
        <CommandBlock text="kubectl config view --raw --minify --flatten" what={words.kubeconfigFrom} />
      </div>
    </div>
  );
}
