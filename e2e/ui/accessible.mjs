// WCAG AA, as far as a program can tell: axe in the page, with its findings as sentences.
import axe from 'axe-core';

const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** What violates WCAG AA in the page as it is now; name says which page that is. */
export async function violations(page, name) {
  // By the debugger's protocol: the page's own content security policy lets no script in.
  await page.evaluate(`${axe.source}; undefined`);
  const { violations: found } = await page.evaluate((only) => globalThis.axe.run(document, { runOnly: only, resultTypes: ['violations'] }), rules);
  return found.map(({ id, nodes }) => `${name}: ${id}: ${nodes.slice(0, 3).map((node) => `${node.target.join(' ')} (${[...node.any, ...node.all, ...node.none][0]?.message ?? ''})`).join('; ')}${nodes.length > 3 ? ` and ${nodes.length - 3} more` : ''}`);
}
