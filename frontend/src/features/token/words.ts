import type { Dictionary } from '@/shared/hooks/useWords';
import { en, type TokenWords } from './words.en';

export const tokenWords: Dictionary<TokenWords> = { en, zh: () => import('./words.zh').then((part) => part.zh) };
