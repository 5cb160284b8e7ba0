/** Two languages, English with the code that shows it, 中文 loaded when chosen; typed, so that neither can lack a word. */
import { createContext, type ReactNode, startTransition, use, useContext, useEffect, useMemo, useState } from 'react';
import { patiently } from '@/shared/part';

export type Language = 'en' | 'zh';

/** One part's dictionary: English is here, 中文 comes when it is asked for. */
export interface Dictionary<T> {
  en: T;
  zh: () => Promise<T>;
}

/** Makes a dictionary. In 中文 it loads at once, beside its page's code rather than after it. */
export function dictionary<T>(en: T, load: () => Promise<{ zh: T }>): Dictionary<T> {
  let loaded: Promise<T> | undefined;
  const zh = () => (loaded ??= patiently(load).then((part) => part.zh, (error: unknown) => {
    loaded = undefined; // whoever asks next tries again
    throw error;
  }));
  if (initial() === 'zh') zh().catch(() => undefined);
  return { en, zh };
}

interface LanguageState {
  language: Language;
  setLanguage: (language: Language) => void;
}

const storageKey = 'muster.language';
const Context = createContext<LanguageState>({ language: 'en', setLanguage: () => undefined });

function initial(): Language {
  const kept = localStorage.getItem(storageKey);
  if (kept === 'en' || kept === 'zh') return kept;
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setState] = useState<Language>(initial);
  useEffect(() => {
    document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
  }, [language]);
  const state = useMemo<LanguageState>(() => ({
    language,
    setLanguage: (next) => {
      localStorage.setItem(storageKey, next);
      // The old words stay until the new ones are loaded.
      startTransition(() => setState(next));
    },
  }), [language]);
  return <Context value={state}>{children}</Context>;
}

export function useLanguage(): LanguageState {
  return useContext(Context);
}

/** The words of one part in the language chosen; suspends while 中文 is on its way. */
export function useWords<T>(dictionary: Dictionary<T>): T {
  const { language } = useLanguage();
  if (language === 'en') return dictionary.en;
  return use(dictionary.zh());
}
