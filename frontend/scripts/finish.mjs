// After "vite build": weighs what a browser loads before the first useful paint, fails when that is more than the budget,
// and writes a .br and a .gz twin of every file that shrinks, so that the server never compresses.
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const budget = 150 * 1024;
const least = 512;
const compressible = /\.(html|js|css|svg|json|map|txt)$/;
const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const entry = 'index.html';

/** The pages that a first visit may land on; each needs the entry and its own chunk, and in 中文 that chunk's words too. */
const firstPages = ['src/features/session/LoginPage.tsx', 'src/features/cluster/ClusterListPage.tsx'];

const brotli = (data) => brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: data.length } });

const manifest = JSON.parse(await readFile(join(dist, '.vite/manifest.json'), 'utf8'));
const sizes = new Map();
for (const name of await readdir(dist, { recursive: true })) {
  if (!compressible.test(name) || name.startsWith('.vite')) continue;
  const data = await readFile(join(dist, name));
  const br = brotli(data);
  sizes.set(name, br.length);
  // index.html is rendered anew for every answer; a compressed twin of it would carry no nonce.
  if (name === entry || data.length < least) continue;
  const gz = gzipSync(data, { level: 9 });
  if (br.length < data.length) await writeFile(join(dist, `${name}.br`), br);
  if (gz.length < data.length) await writeFile(join(dist, `${name}.gz`), gz);
}

/** The files of a chunk and of all that it imports statically. */
function closure(key, files = new Set(), seen = new Set()) {
  const chunk = manifest[key];
  if (!chunk) throw new Error(`the manifest has no ${key}`);
  if (seen.has(key)) return files;
  seen.add(key);
  files.add(chunk.file);
  (chunk.css ?? []).forEach((file) => files.add(file));
  (chunk.imports ?? []).forEach((next) => closure(next, files, seen));
  return files;
}

/** The second language's words among what the files' sources import on demand. */
function chinese(page) {
  const feature = page.slice(0, page.lastIndexOf('/') + 1);
  return Object.keys(manifest).filter((key) => /(words|errors)\.zh\.ts$/.test(key) && !(key.startsWith('src/features/') && !key.startsWith(feature)));
}

let over = false;
for (const page of firstPages) {
  const files = new Set([entry, 'theme.js', ...closure(entry), ...closure(page)]);
  const weigh = (names) => [...names].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
  const english = weigh(files);
  for (const key of chinese(page)) closure(key, files);
  const both = weigh(files);
  const kb = (n) => `${(n / 1024).toFixed(1)} KB`;
  console.log(`${page}: ${kb(english)} brotli before the first useful paint, ${kb(both)} in 中文 (budget ${kb(budget)})`);
  over ||= both > budget;
}
await rm(join(dist, '.vite'), { recursive: true });
if (over) {
  console.error('The first page is over its budget: make something lazy.');
  process.exit(1);
}
