import type { ReactNode } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { WizardFrame } from '@/shared/ui/WizardFrame';
import { consentWords } from './words';

/** Title and steps of Add cluster, the same whichever way a cluster comes. */
export function Frame({ step, cluster, ...inside }: { step: number; cluster?: string; actions?: ReactNode; children: ReactNode }) {
  const words = useWords(consentWords);
  const { how, details, connect } = words.steps;
  return <WizardFrame title={cluster ? words.wizardNamed(cluster) : words.wizard} label={words.stepsLabel} steps={[how, details, connect]} current={step} {...inside} />;
}
