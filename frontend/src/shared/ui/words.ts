import type { Dictionary } from '@/shared/hooks/useWords';
import { en, type UIWords } from './words.en';

export const uiWords: Dictionary<UIWords> = { en, zh: () => import('./words.zh').then((part) => part.zh) };
