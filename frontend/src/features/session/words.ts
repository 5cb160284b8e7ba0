import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const sessionWords = dictionary(en, () => import('./words.zh'));
