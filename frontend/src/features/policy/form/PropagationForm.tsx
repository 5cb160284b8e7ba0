import { useWords } from '@/shared/hooks/useWords';
import { AboutFields } from './AboutFields';
import { ClusterFields } from './ClusterFields';
import { MoreFields } from './MoreFields';
import { ReplicaFields } from './ReplicaFields';
import { SelectorList } from './SelectorList';
import { SpreadFields } from './SpreadFields';
import { TolerationFields } from './TolerationFields';
import { formWords } from './words';

/** What goes where: the fields of both kinds of propagation policies. */
export function PropagationForm({ namespaced }: { namespaced: boolean }) {
  const words = useWords(formWords);
  return (
    <>
      <AboutFields namespaced={namespaced} />
      <SelectorList hint={words.resourcesHint} namespaced={namespaced} />
      <ClusterFields />
      <SpreadFields />
      <ReplicaFields />
      <TolerationFields />
      <MoreFields />
    </>
  );
}
