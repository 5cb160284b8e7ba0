import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const userWords = dictionary(en, () => import('./words.zh'));
