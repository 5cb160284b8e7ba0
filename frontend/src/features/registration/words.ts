import type { Dictionary } from '@/shared/hooks/useWords';
import { en, type RegistrationWords } from './words.en';

export const registrationWords: Dictionary<RegistrationWords> = { en, zh: () => import('./words.zh').then((part) => part.zh) };
