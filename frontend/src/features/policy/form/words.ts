import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const formWords = dictionary(en, () => import('./words.zh'));
