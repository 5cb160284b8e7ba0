import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { ApiError } from '@/api/client';
import { useExplain } from '@/api/errors';
import { useSession } from '@/api/session';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Empty } from '@/shared/ui/Empty';
import { FailedPage } from '@/shared/ui/FailedPage';
import { Placeholder } from '@/shared/ui/Placeholder';
import { idOf, workloadDetail, type WorkloadKey } from '../queries';
import { workloadWords } from '../words';
import { withoutMarks } from './marks';
import { openSession } from './session';
import { authorWords } from './words';
import { WorkloadEditor } from './WorkloadEditor';

/** Changes a workload. The text is read once: what others do meanwhile is told when it touches the same fields. */
export default function EditWorkloadPage(at: WorkloadKey) {
  const words = useWords(workloadWords);
  const explain = useExplain();
  const query = useQuery(workloadDetail(at));
  if (query.data) return <Opened at={at} whole={query.data.yaml} newest={async () => { const { data } = await query.refetch(); return data && withoutMarks(data.yaml); }} />;
  if (query.error instanceof ApiError && query.error.status === 404) {
    return <Empty page title={words.goneTitle(at.name)} action={<Link href={paths.workloads()}>{words.toList}</Link>}>{words.goneText}</Empty>;
  }
  return query.error ? <FailedPage title={at.name} explained={explain.error(query.error)} retrying={query.isFetching} onRetry={() => void query.refetch()} back={<Link href={paths.workloads()}>{words.toList}</Link>} /> : <Placeholder rows={8} />;
}

function Opened({ at, whole, newest }: { at: WorkloadKey; whole: string; newest: () => Promise<string | undefined> }) {
  const words = useWords(authorWords);
  const { user } = useSession();
  const [session] = useState(() => openSession(`${user.name}/${idOf(at)}`, withoutMarks(whole), words.yaml));
  const [marked] = useState(() => withoutMarks(whole) !== whole);
  return <WorkloadEditor title={words.editTitle(at.name)} session={session} saved={at} above={marked && <p className="dim">{words.marksKept}</p>} newest={newest} back={`${paths.workload({ ...at, apiVersion: at.group === 'core' ? at.version : `${at.group}/${at.version}`, namespace: at.namespace === '-' ? '' : at.namespace })}?tab=yaml`} />;
}
