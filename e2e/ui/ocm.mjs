// What the browser tests of Open Cluster Management share: both consents as the hub holds them, and as the waiting room shows them.
import { read } from './browser.mjs';

export const managed = (name) => read('managedcluster', name);
export const requestOf = async (name) => (await read('csr', '-l', `open-cluster-management.io/cluster-name=${name}`)).items[0];
export const consents = async (name) => ({ request: (await requestOf(name)).status.conditions?.[0]?.type ?? 'Pending', accepted: (await managed(name)).spec.hubAcceptsClient ?? false });

/** The waiting room in a page. */
export function room(page) {
  const dialog = () => page.getByRole('dialog');
  const card = (name) => page.getByRole('article', { name, exact: true });
  return {
    dialog,
    card,
    certificate: (name) => card(name).getByRole('group', { name: 'Certificate' }),
    acceptance: (name) => card(name).getByRole('group', { name: 'Acceptance' }),
    /** Opens a dialog by the button of this name and agrees in it. */
    async decide(name, answer = name) {
      await page.getByRole('button', { name, exact: true }).click();
      await dialog().getByRole('button', { name: answer, exact: true }).click();
      await dialog().waitFor({ state: 'detached' });
    },
  };
}
