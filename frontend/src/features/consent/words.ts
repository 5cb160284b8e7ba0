import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const consentWords = dictionary(en, () => import('./words.zh'));
