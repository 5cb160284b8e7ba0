import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

const hub = process.env['MUSTER_DEV_HUB'] ?? 'https://127.0.0.1:8443';

export default defineConfig({
  plugins: [
    react(),
    {
      // A classic script, so that it runs before the first paint; a module would come too late.
      name: 'muster:theme-first',
      transformIndexHtml: () => [{ tag: 'script', attrs: { src: '/theme.js' }, injectTo: 'head-prepend' }],
    },
  ],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  // The server replaces the placeholder in every answer; Vite puts it on the tags that it writes.
  html: { cspNonce: '__CSP_NONCE__' },
  server: {
    // The hub takes changes and sockets from its own origin only.
    proxy: { '/api': { target: hub, secure: false, ws: true, changeOrigin: true, headers: { origin: hub } } },
  },
  build: {
    target: 'es2023',
    manifest: true,
    // A data: URL would need a hole in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  test: {
    environment: 'happy-dom',
    include: ['src/**/*.test.{ts,tsx}'],
    pool: 'threads',
    maxWorkers: 1,
  },
});
