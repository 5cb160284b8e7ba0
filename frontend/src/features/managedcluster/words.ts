import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const managedWords = dictionary(en, () => import('./words.zh'));
