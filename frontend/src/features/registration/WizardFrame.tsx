import type { ReactNode } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { WizardFrame as Wizard } from '@/shared/ui/WizardFrame';
import { registrationWords } from './words';

/** Title and steps of Add cluster, the same whichever way a cluster comes. */
export function WizardFrame({ step, cluster, ...inside }: { step: number; cluster?: string; actions?: ReactNode; children: ReactNode }) {
  const words = useWords(registrationWords);
  const { how, details, connect } = words.steps;
  return <Wizard title={cluster ? words.titleNamed(cluster) : words.title} label={words.stepsLabel} steps={[how, details, connect]} current={step} {...inside} />;
}
