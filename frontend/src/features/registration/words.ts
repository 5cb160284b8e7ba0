import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const registrationWords = dictionary(en, () => import('./words.zh'));
