import type { Dictionary } from '@/shared/hooks/useWords';
import { en, type SessionWords } from './words.en';

export const sessionWords: Dictionary<SessionWords> = { en, zh: () => import('./words.zh').then((part) => part.zh) };
