import { Link } from 'wouter';
import { factWords, remedyOf, sentence } from '@/api/facts';
import { leftOut, schedulingWords } from '@/api/scheduling';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { StateMark } from '@/shared/ui/StateMark';
import styles from './FactChain.module.css';
import { hrefOf } from './links';
import { cutAt } from './cut';
import { factTones } from './state';
import type { Fact } from './types';
import { workloadWords } from './words';

/** Why something stands as it does, link by link from the policy to the clusters. */
export function FactChain({ facts }: { facts: Fact[] }) {
  const words = useWords(workloadWords);
  const said = useWords(factWords);
  const known = useWords(schedulingWords);
  if (facts.length === 0) return <p className="dim">{words.noFacts}</p>;
  return (
    <ol className={styles['chain']}>
      {facts.map((fact, index) => {
        const href = hrefOf(fact.link);
        const text = sentence(said, leftOut(known, fact));
        const remedy = remedyOf(said, fact);
        const [before, name, after] = cutAt(text, href ? namesIn(fact) : []);
        return (
          // Facts have no name of their own, and their order is what they say.
          <li key={index} className={styles['fact']} data-level={fact.level}>
            <span className={styles['mark']}><StateMark tone={factTones[fact.level]} /><span className="hidden">{words.levels[fact.level]}: </span></span>
            <div className={styles['text']}>
              {before}{href && name && <Link href={href}>{name}</Link>}{after}
              {href && !name && fact.link && <> <Link href={href} className={styles['link']}>{fact.link.kind} {fact.link.name}</Link></>}
              {remedy && <p className={styles['remedy']}>{said.remedy(remedy)}</p>}
            </div>
            <span className={styles['at']}>{fact.at && <Age at={fact.at} />}</span>
          </li>
        );
      })}
    </ol>
  );
}

/** What a fact may call the object that it links to. */
function namesIn({ link, params }: Fact): (string | undefined)[] {
  if (!link) return [];
  const full = [link.namespace, link.name].filter(Boolean).join('/');
  return [`${link.kind} ${full}`, full, params?.['cluster'] === undefined ? undefined : String(params['cluster']), link.name];
}
