import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const tokenWords = dictionary(en, () => import('./words.zh'));
