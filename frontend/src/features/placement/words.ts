import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const placementWords = dictionary(en, () => import('./words.zh'));
