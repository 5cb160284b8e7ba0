import type { Dictionary } from '@/shared/hooks/useWords';
import { en, type UserWords } from './words.en';

export const userWords: Dictionary<UserWords> = { en, zh: () => import('./words.zh').then((part) => part.zh) };
