import type { ReactNode } from 'react';
import { useExplain } from '@/api/errors';
import type { Registration, Stage } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import { type StageItem, StageList } from '@/shared/ui/StageList';
import { registrationWords } from './words';

/** The stages of one registration; a failed one carries code, cause, fix and the way to try again. */
export function Progress({ registration, again }: { registration: Registration; again: ReactNode }) {
  const words = useWords(registrationWords);
  const explain = useExplain();
  const item = (stage: Stage): StageItem => ({
    key: stage.name,
    label: words.stages[stage.name] ?? stage.name,
    state: stage.state,
    spoken: words.stageStates[stage.state],
    at: stage.at,
    aside: [stage.source && words.fromAddress(stage.source), stage.state !== 'failed' && stage.detail].filter(Boolean).join(' · '),
    failure: stage.state === 'failed' ? explain.failure(stage) : undefined,
    action: stage.state === 'failed' ? again : undefined,
  });
  return <StageList label={words.progress} stages={registration.stages.map(item)} />;
}
