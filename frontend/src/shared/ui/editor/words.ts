import { dictionary } from '@/shared/hooks/useWords';
import { en } from './words.en';

export const editorWords = dictionary(en, () => import('./words.zh'));
