import { useWords } from '@/shared/hooks/useWords';
import { Block, Line } from './Block';
import { useForm } from './context';
import { TextField } from './fields';
import { formWords } from './words';

export function AboutFields({ namespaced }: { namespaced: boolean }) {
  const words = useWords(formWords);
  const { saved } = useForm();
  return (
    <Block title={words.about} path={['metadata']}>
      <Line>
        <TextField path={['metadata', 'name']} label={words.name} fixed={saved} />
        {namespaced && <TextField path={['metadata', 'namespace']} label={words.namespace} placeholder="default" fixed={saved} />}
      </Line>
      {saved && <p className="dim small">{words.fixedName}</p>}
    </Block>
  );
}
