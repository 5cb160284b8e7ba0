import { dictionary } from '@/shared/hooks/useWords';
import { en } from './verbs.en';

export const verbWords = dictionary(en, () => import('./verbs.zh'));
