import { Link } from 'wouter';
import type { ManifestWork } from '@/api/model';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { managedWords } from './words';

/** Who made a ManifestWork: a policy through a Work, a ManifestWorkReplicaSet, or somebody by hand. */
export function Owner({ work }: { work: Pick<ManifestWork, 'cluster' | 'owner' | 'relayed'> }) {
  const words = useWords(managedWords);
  if (work.relayed) return <Link href={`${paths.cluster(work.cluster)}?tab=works`} title={words.ownerPolicyHint}>{words.ownerPolicy}</Link>;
  return work.owner ? <>{work.owner}</> : <span className="dim">{words.ownerDirect}</span>;
}
