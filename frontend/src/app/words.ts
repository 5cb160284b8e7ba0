import type { Dictionary } from '@/shared/hooks/useWords';
import { type AppWords, en } from './words.en';

export const appWords: Dictionary<AppWords> = { en, zh: () => import('./words.zh').then((part) => part.zh) };
