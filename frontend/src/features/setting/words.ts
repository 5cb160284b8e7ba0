import type { Dictionary } from '@/shared/hooks/useWords';
import { en, type SettingWords } from './words.en';

export const settingWords: Dictionary<SettingWords> = { en, zh: () => import('./words.zh').then((part) => part.zh) };
