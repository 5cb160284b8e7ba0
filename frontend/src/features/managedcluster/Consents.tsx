import type { ManagedDetail } from '@/api/model';
import { Said } from '@/api/said';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Section } from '@/shared/ui/Section';
import { StateMark, type Tone } from '@/shared/ui/StateMark';
import styles from './managedcluster.module.css';
import { managedWords } from './words';

const certificateTones = { none: 'idle', kept: 'ok', pending: 'busy', approved: 'busy', issued: 'ok', denied: 'bad', failed: 'bad' } as const satisfies Record<string, Tone>;

/** The two independent consents, side by side: the certificate of the agent, and the acceptance of the cluster. */
export function Consents({ cluster }: { cluster: ManagedDetail }) {
  const words = useWords(managedWords);
  if (cluster.dialect === 'karmada') return <Section title={words.consents}><p className="dim">{words.consentsKarmada}</p></Section>;
  const newest = cluster.certificateRequests[0];
  const state = newest?.state ?? (cluster.joined ? 'kept' : 'none');
  const accepted = cluster.conditions.find((condition) => condition.type === 'HubAcceptedManagedCluster');
  const acceptance = cluster.accepted ? words.acceptedWord : cluster.state === 'denied' ? words.deniedWord : words.notAccepted;
  const why = cluster.state === 'denied' ? cluster.message : !cluster.accepted && accepted?.message;
  return (
    <Section title={words.consents}>
      <div className={styles['consents']}>
        <div className={styles['consent']}>
          <h3>{words.consentCertificate}</h3>
          <StateMark tone={certificateTones[state]}>{words.certificates[state]}{newest && <span className="dim"> <Age at={newest.decidedAt ?? newest.createdAt} ago /></span>}</StateMark>
          {newest
            ? <span className="dim small wrap">{words.requestBy(newest.name, newest.requester)}</span>
            : cluster.joined && <span className="dim small">{words.noneHint}</span>}
        </div>
        <div className={styles['consent']}>
          <h3>{words.consentAcceptance}</h3>
          <StateMark tone={cluster.accepted ? 'ok' : cluster.state === 'denied' ? 'bad' : 'idle'}>{acceptance}{accepted && <span className="dim"> <Age at={accepted.lastTransitionTime} ago /></span>}</StateMark>
          {why && <span className="dim small wrap"><Said text={why} /></span>}
        </div>
      </div>
    </Section>
  );
}
