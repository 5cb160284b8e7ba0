import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const authorWords = dictionary(en, () => import('./words.zh'));
