import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import { useExplain } from '@/api/errors';
import { type PolicyAt, paths } from '@/app/paths';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { ConfirmName } from '@/shared/ui/ConfirmName';
import { Dialog } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import { count } from '@/shared/ui/time';
import type { Family } from './kinds';
import { policyEffect, removePolicy } from './queries';
import { policyWords } from './words';

/** Says what stays and what does not before the policy goes. */
export default function DeleteDialog({ at, family, onClose }: { at: PolicyAt; family: Family; onClose: () => void }) {
  const words = useWords(policyWords).removal;
  const explain = useExplain();
  const { language } = useLanguage();
  const [, navigate] = useLocation();
  const effect = useInfiniteQuery(policyEffect(at));
  const remove = useMutation(removePolicy(at));
  const matched = effect.data?.pages[0]?.matched ?? 0;
  return (
    <Dialog onClose={onClose} title={words.title(at.name)}>
      <ConfirmName
        name={at.name} words={words} pending={remove.isPending} failed={remove.error && <Notice explained={explain.error(remove.error)} />}
        onConfirm={() => remove.mutate(undefined, { onSuccess: () => navigate(paths.policies()) })} onClose={onClose}
      >
        {matched > 0 && <p>{words.holds(count(language, matched))}</p>}
        <p>{words[family]}</p>
        {family === 'propagation' && <p className="dim">{words.toRemove}</p>}
      </ConfirmName>
    </Dialog>
  );
}
