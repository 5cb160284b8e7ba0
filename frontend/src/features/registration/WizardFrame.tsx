import type { ReactNode } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { PageHead } from '@/shared/ui/PageHead';
import { Steps } from '@/shared/ui/Steps';
import { registrationWords } from './words';

/** The title and the three steps, the same on every page of the wizard. */
export function WizardFrame({ step, cluster, actions, children }: { step: number; cluster?: string; actions?: ReactNode; children: ReactNode }) {
  const words = useWords(registrationWords);
  const title = cluster ? words.titleNamed(cluster) : words.title;
  return (
    <div className="page">
      <title>{`${title} · Muster`}</title>
      <PageHead title={title} below={<Steps label={words.stepsLabel} steps={[words.steps.how, words.steps.details, words.steps.connect]} current={step} />} actions={actions} />
      {children}
    </div>
  );
}
