import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { type Explained, Notice } from './Notice';
import { PageHead } from './PageHead';
import { uiWords } from './words';

interface FailedPageProps {
  /** What the page is about, which is known from its address. */
  title: string;
  explained: Explained;
  retrying: boolean;
  onRetry: () => void;
  /** The way to the list. */
  back: ReactNode;
}

/** A page whose object could not be read: it says of what, why, and is no dead end. */
export function FailedPage({ title, explained, retrying, onRetry, back }: FailedPageProps) {
  const words = useWords(uiWords);
  return (
    <div className="page">
      <title>{`${title} · Muster`}</title>
      <PageHead title={title} below={back} />
      <Notice explained={explained} action={<Button variant="default" loading={retrying} onClick={onRetry}>{words.retry}</Button>} />
    </div>
  );
}
