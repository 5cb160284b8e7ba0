import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const policyWords = dictionary(en, () => import('./words.zh'));
