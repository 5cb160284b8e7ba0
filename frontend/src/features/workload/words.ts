import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const workloadWords = dictionary(en, () => import('./words.zh'));
