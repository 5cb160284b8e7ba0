import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const appWords = dictionary(en, () => import('./words.zh'));
