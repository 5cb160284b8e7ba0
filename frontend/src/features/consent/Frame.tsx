import type { ReactNode } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { PageHead } from '@/shared/ui/PageHead';
import { Steps } from '@/shared/ui/Steps';
import { consentWords } from './words';

/** Title and steps of Add cluster, the same as for the other ways. */
export function Frame({ step, cluster, actions, children }: { step: number; cluster?: string; actions?: ReactNode; children: ReactNode }) {
  const words = useWords(consentWords);
  const title = cluster ? words.wizardNamed(cluster) : words.wizard;
  return (
    <div className="page">
      <title>{`${title} · Muster`}</title>
      <PageHead title={title} below={<Steps label={words.stepsLabel} steps={[words.steps.how, words.steps.details, words.steps.connect]} current={step} />} actions={actions} />
      {children}
    </div>
  );
}
