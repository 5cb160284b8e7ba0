import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const clusterWords = dictionary(en, () => import('./words.zh'));
