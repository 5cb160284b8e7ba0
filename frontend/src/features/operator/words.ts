import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const operatorWords = dictionary(en, () => import('./words.zh'));
