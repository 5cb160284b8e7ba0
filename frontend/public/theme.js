// Runs before the first paint: a page that turns dark after it is drawn hurts the eyes. The key is the dashboard's own.
try {
  const kept = localStorage.getItem('muster.scheme');
  const dark = kept === 'dark' || (kept !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light');
} catch {
  // Storage is blocked: light it is, until the dashboard itself knows better.
}
