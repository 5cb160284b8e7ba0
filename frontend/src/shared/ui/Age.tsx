import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { useAge } from '@/shared/hooks/useNow';
import { absolute, compactAge } from './time';
import { uiWords } from './words';

/** How long ago something was, alive; the exact time on hover. */
export function Age({ at, ago = false }: { at: string | undefined; ago?: boolean }) {
  const words = useWords(uiWords);
  const { language } = useLanguage();
  const milliseconds = useAge(at ? Date.parse(at) : 0);
  if (!at) return <span className="dim">{words.never}</span>;
  const age = compactAge(words, milliseconds);
  return <time dateTime={at} title={absolute(language, at)}>{ago ? words.ago(age) : age}</time>;
}
