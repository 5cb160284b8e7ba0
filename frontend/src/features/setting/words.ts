import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const settingWords = dictionary(en, () => import('./words.zh'));
