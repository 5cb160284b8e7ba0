import { Button } from '@mantine/core';
import { useLocation, useSearchParams } from 'wouter';
import { useMay } from '@/api/session';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Notice } from '@/shared/ui/Notice';
import styles from './AddClusterPage.module.css';
import { PullForm } from './PullForm';
import { PushForm } from './PushForm';
import { WizardFrame } from './WizardFrame';
import { registrationWords } from './words';

const ways = ['pull', 'push', 'ocm'] as const;

/** The wizard's first two steps. The third is the registration's own page, so that it survives a reload. */
export default function AddClusterPage() {
  const words = useWords(registrationWords);
  const may = useMay('operator');
  const [search, setSearch] = useSearchParams();
  const how = ways.find((way) => way === search.get('how')) ?? 'pull';
  const details = search.get('step') === 'details';
  const [, navigate] = useLocation();
  // Open Cluster Management has steps of its own, with two consents in them.
  const toDetails = () => (how === 'ocm' ? navigate(paths.introduceCluster()) : setSearch({ how, step: 'details' }));
  const back = () => setSearch({ how });
  return (
    <WizardFrame step={details ? 1 : 0}>
      {!may && <Notice tone="warn" title={words.needRole} />}
      {!details && (
        <form className={styles['form']} onSubmit={(event) => { event.preventDefault(); toDetails(); }}>
          <fieldset className={styles['ways']}>
            <legend>{words.howTitle}</legend>
            {ways.map((way) => (
              <label key={way} className={styles['way']}>
                <input type="radio" name="how" value={way} checked={how === way} onChange={() => setSearch({ how: way }, { replace: true })} />
                <span><strong>{words[way]}</strong><br /><span className="dim">{words[`${way}Text`]}</span></span>
              </label>
            ))}
          </fieldset>
          <div className={styles['buttons']}><Button type="submit">{words.next}</Button></div>
        </form>
      )}
      {details && how === 'pull' && <PullForm may={may} onBack={back} />}
      {details && how === 'push' && <PushForm may={may} onBack={back} />}
    </WizardFrame>
  );
}
