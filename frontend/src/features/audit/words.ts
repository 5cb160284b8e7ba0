import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const auditWords = dictionary(en, () => import('./words.zh'));
