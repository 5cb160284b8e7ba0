import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const uiWords = dictionary(en, () => import('./words.zh'));
