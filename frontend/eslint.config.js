import { readdirSync } from 'node:fs';
import hooks from 'eslint-plugin-react-hooks';
import globals from 'globals';
import ts from 'typescript-eslint';

const features = readdirSync(new URL('./src/features', import.meta.url));

/** One rule set a feature: it may import app/paths, api and shared, never another feature. */
const borders = features.map((own) => ({
  files: [`src/features/${own}/**/*.{ts,tsx}`],
  rules: {
    'no-restricted-imports': ['error', {
      patterns: [
        { group: features.filter((f) => f !== own).flatMap((f) => [`@/features/${f}`, `@/features/${f}/*`, `../${f}/*`, `**/features/${f}/*`]), message: 'Features never import each other.' },
        { regex: '^@/app/(?!paths$)', message: 'Of app, a feature may import paths only.' },
      ],
    }],
  },
}));

export default ts.config(
  { ignores: ['dist', 'node_modules', 'public', 'src/api/schema.gen.ts'] },
  ...ts.configs.strict,
  {
    files: ['**/*.{ts,tsx}'],
    plugins: { 'react-hooks': hooks },
    languageOptions: { globals: globals.browser },
    rules: {
      ...hooks.configs.recommended.rules,
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      'no-restricted-globals': ['error', { name: 'fetch', message: 'api/client.ts is the sole fetch.' }, { name: 'WebSocket', message: 'api/live.ts is the sole socket.' }],
      'no-restricted-syntax': ['error', { selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]', message: 'What comes from a member is text, never HTML.' }],
    },
  },
  ...borders,
  {
    files: ['src/shared/**/*.{ts,tsx}'],
    rules: {
      'no-restricted-imports': ['error', {
        patterns: [{ group: ['@/app/*', '@/features/*', '@/api/*'], message: 'shared knows no noun, query or page.' }, { group: ['wouter', '@tanstack/*'], message: 'shared knows no router and no query.' }],
      }],
    },
  },
  {
    files: ['src/api/**/*.{ts,tsx}'],
    rules: { 'no-restricted-imports': ['error', { patterns: [{ group: ['@/app/*', '@/features/*'], message: 'api lies below app and features.' }] }] },
  },
  { files: ['src/api/client.ts', 'src/api/live.ts', 'src/test/**', '**/*.test.*'], rules: { 'no-restricted-globals': 'off' } },
  { files: ['src/**/words.*.ts', 'src/**/errors.*.ts', 'src/api/said.*.ts'], rules: { 'max-lines': 'off' } },
);
