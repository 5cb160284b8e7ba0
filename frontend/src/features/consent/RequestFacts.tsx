import type { ReactNode } from 'react';
import type { CertificateRequest } from '@/api/model';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Facts } from '@/shared/ui/Facts';
import { Notice } from '@/shared/ui/Notice';
import { Fingerprint } from './Fingerprint';
import { lifetimeOf, requesterOf } from './state';
import { consentWords } from './words';

/** What is known of a certificate request, the fingerprint first. */
export function RequestFacts({ request }: { request: CertificateRequest }) {
  const words = useWords(consentWords);
  const who = requesterOf(words, request.requester);
  const facts: [string, ReactNode][] = [
    [words.requester, <span key="who" title={request.requester}>{request.renewal ? words.renewal : who}</span>],
    ...(request.address ? [[words.from, [request.address, request.userAgent?.split(' ', 1)[0]].filter(Boolean).join(' · ')] as [string, ReactNode]] : []),
    [words.asked, <><Age at={request.createdAt} ago />{request.expirationSeconds ? ` · ${words.validFor} ${lifetimeOf(words, request.expirationSeconds)}` : ''}</>],
    ...(request.decidedAt ? [[words.decided, <><Age at={request.decidedAt} ago />{request.decidedBy ? ` · ${words.decidedBy(request.decidedBy)}` : ''}</>] as [string, ReactNode]] : []),
  ];
  return (
    <>
      {request.fingerprint && <Fingerprint value={request.fingerprint} />}
      <Facts facts={facts} />
      {request.problem && <Notice tone="warn" title={words.unexpected}><p className="wrap">{request.problem}</p></Notice>}
      {!request.problem && request.held && (request.state === 'pending' || request.state === 'approved') && (
        <Notice tone="warn" title={request.state === 'pending' ? words.held : words.unsigned}><p className="wrap">{request.held}</p></Notice>
      )}
    </>
  );
}
