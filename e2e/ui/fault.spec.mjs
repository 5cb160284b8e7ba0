// Bad input, as the dashboard tells of it: what is wrong, what to do about it, where to go, and that all of it goes away by itself on the
// open page once it is mended. It goes on with the hub and the clusters of editor.spec.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { apply, becomes, chosenPassword, known, kubectl, launch, person, photograph, read, setting, signIn } from './browser.mjs';

const namespace = 'faults';
const east = ['--kubeconfig', setting.eastKubeconfig];
const west = ['--kubeconfig', setting.westKubeconfig];
const inside = ['-n', namespace];
let browser;
let admin;
let page;

before(async () => {
  browser = await launch();
  admin = await person(browser);
  page = await admin.context.newPage();
  await apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }]);
  for (const member of [east, west]) await becomes(() => kubectl(['get', 'namespace', namespace, '-o', 'name', '--ignore-not-found', ...member]), `namespace/${namespace}\n`);
  await page.goto(setting.url);
  await signIn(page, 'admin', chosenPassword);
  await page.getByRole('link', { name: 'cluster2' }).first().waitFor();
});

after(async () => { await browser?.close(); });

const configMap = (name, data, labels) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels }, data });
const policy = (name, kind, apiVersion = 'v1', spec = {}) => ({
  apiVersion: 'policy.karmada.io/v1alpha1', kind: 'PropagationPolicy', metadata: { name, namespace }, spec: { resourceSelectors: [{ apiVersion, kind, name }], ...spec },
});
const workload = (kind, name) => `/workloads/core/v1/${kind}/${namespace}/${name}`;
async function open(kind, name) {
  await known(admin.context, workload(kind, name));
  await page.goto(setting.url + workload(kind, name));
}
const troubles = () => page.locator('li[data-level="error"]');

/** That the page names so many troubles, one of them with this cause and fix, which is handed on. */
async function told(cause, fix, count = 1) {
  const fact = troubles().filter({ hasText: cause });
  await fact.filter({ hasText: `What to do: ${fix}` }).waitFor();
  await becomes(() => troubles().count(), count, 'troubles');
  await page.getByRole('heading', { name: 'Why it is not ready' }).waitFor();
  return fact;
}

/** That the open page has nothing to tell any more. */
async function well() {
  await page.getByText('All clusters have it (2).').waitFor();
  await troubles().waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'Why it stands like this' }).waitFor();
}

test('a policy that selects nothing: list and page name cause and fix, and follow by themselves', async () => {
  await apply([policy('forgetful', 'ConfigMap')]);
  const cause = `There is no ConfigMap called forgetful in the namespace ${namespace}.`;
  const list = await admin.context.newPage();
  await list.goto(`${setting.url}/policies`);
  const line = list.getByText(`${cause} Create it, or correct the name.`).filter({ visible: true });
  await line.waitFor();
  await list.getByRole('row').filter({ hasText: 'forgetful' }).filter({ hasText: 'Matches nothing' }).first().getByRole('link', { name: 'forgetful' }).waitFor();

  await known(admin.context, `/policies/propagationpolicies/${namespace}/forgetful`);
  await page.goto(`${setting.url}/policies/propagationpolicies/${namespace}/forgetful`);
  const notice = page.getByText('It matches nothing on this hub');
  await notice.waitFor();
  await page.getByRole('listitem').filter({ hasText: cause }).filter({ hasText: 'Create it, or correct the name.' }).waitFor();

  await apply([configMap('forgetful', {})]);
  await page.getByRole('row').filter({ hasText: 'forgetful' }).filter({ hasText: 'cluster1 applied' }).filter({ hasText: 'cluster2 applied' }).waitFor();
  await notice.waitFor({ state: 'detached' });
  await line.waitFor({ state: 'detached' });
  await list.getByRole('row').filter({ hasText: 'forgetful' }).filter({ hasText: 'Active' }).waitFor();
  await list.close();
});

test('a conflict: what is there already is named, with the cluster and the ways out', async () => {
  await apply([configMap('taken', { of: 'theirs' })], ...east);
  await apply([configMap('taken', { of: 'ours' }), policy('taken', 'ConfigMap')]);
  await open('ConfigMap', 'taken');
  const fact = await told('cluster1: an object of this name exists there that the hub does not manage.', 'Rename or delete the object there, or let the hub take it over: set conflictResolution: Overwrite in the policy');
  assert.equal(await fact.getByRole('link', { name: 'cluster1' }).getAttribute('href'), '/clusters/cluster1?tab=works');
  assert.deepEqual((await read('configmap', 'taken', ...inside, ...east)).data, { of: 'theirs' });

  await kubectl(['patch', 'propagationpolicy', 'taken', ...inside, '--type=merge', '-p', '{"spec":{"conflictResolution":"Overwrite"}}']);
  await well();
  assert.deepEqual((await read('configmap', 'taken', ...inside, ...east)).data, { of: 'ours' });
});

test('a template that one cluster refuses: what refuses it there, and what can be done', async () => {
  await apply([
    {
      apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy', metadata: { name: 'no-secrets-in-plain' },
      spec: {
        matchConstraints: { resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE', 'UPDATE'] }] },
        validations: [{ expression: "!has(object.data) || !('password' in object.data)", message: 'passwords belong into a Secret' }],
      },
    },
    { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicyBinding', metadata: { name: 'no-secrets-in-plain' }, spec: { policyName: 'no-secrets-in-plain', validationActions: ['Deny'] } },
  ], ...west);
  const plain = configMap('refused', { password: 'swordfish' });
  await becomes(() => kubectl(['create', '--dry-run=server', '-f', '-', ...west], JSON.stringify(plain)).then(() => 'taken', () => 'refused'), 'refused', 'a password in a ConfigMap');
  await apply([plain, policy('refused', 'ConfigMap')]);
  await open('ConfigMap', 'refused');
  const fact = await told('passwords belong into a Secret', 'A policy or webhook in the cluster refuses it. Change the object, for this cluster alone by an override policy, or have the rule there changed.');
  await fact.filter({ hasText: 'no-secrets-in-plain' }).waitFor();
  assert.equal(await fact.getByRole('link', { name: 'cluster2' }).getAttribute('href'), '/clusters/cluster2?tab=works');
  await page.getByRole('row').filter({ hasText: 'cluster1' }).filter({ hasText: 'OK' }).waitFor();

  await kubectl(['patch', 'configmap', 'refused', ...inside, '--type=merge', '-p', '{"data":{"password":null,"user":"sam"}}']);
  await well();
  await kubectl(['delete', 'validatingadmissionpolicybinding,validatingadmissionpolicy', 'no-secrets-in-plain', ...west]);
});

/** A script for LimitRanges, which nobody else in these tests has. */
const teach = (field, luaScript) => apply([{
  apiVersion: 'config.karmada.io/v1alpha1', kind: 'ResourceInterpreterCustomization', metadata: { name: 'limits' },
  spec: { target: { apiVersion: 'v1', kind: 'LimitRange' }, customizations: { [field]: { luaScript } } },
}]);
const limits = { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'modest', namespace }, spec: { limits: [{ type: 'Container', max: { cpu: '2' } }] } };

test('a broken Lua script: it is named where it keeps the object on the hub, and where only the health cannot be told', async () => {
  await teach('replicaResource', 'function GetReplicas(o)\n  return o.spec.nothing.more, nil\nend');
  await apply([limits, policy('modest', 'LimitRange')]);
  await open('LimitRange', 'modest');
  const fix = 'Correct the ResourceInterpreterCustomization that is named; “muster interpret --check” says what is wrong with it.';
  await told('customization limits, ', `${fix} Clusters keep what they have until then.`);
  await page.getByRole('listitem').getByRole('link', { name: `${namespace}/modest` }).first().waitFor();

  await teach('healthInterpretation', 'function InterpretHealth(o)\n  return o.spec.nothing.more\nend');
  const cause = 'how the object is cannot be told: customization limits, ';
  const fact = await told(`cluster1: ${cause}`, `${fix} The object itself is in the cluster.`, 2);
  assert.equal(await fact.getByRole('link', { name: 'cluster1' }).getAttribute('href'), '/clusters/cluster1?tab=works');
  await read('limitrange', 'modest', ...inside, ...east);

  await teach('healthInterpretation', 'function InterpretHealth(o)\n  return o.spec.limits[1].max.cpu ~= nil\nend');
  await well();
});

test('the pages fit from 1440 to 390 px in both schemes', async () => {
  const sees = (text) => (p) => p.getByText(text).filter({ visible: true }).first().waitFor();
  await teach('healthInterpretation', 'function InterpretHealth(o)\n  return o.spec.nothing.more\nend');
  await apply([policy('forgotten', 'ConfigMap')]);
  const faults = await photograph(browser, await admin.context.storageState(), [
    ['policy-fault', `/policies/propagationpolicies/${namespace}/forgotten`, sees('It matches nothing on this hub')],
    ['policies-fault', '/policies', sees('There is no ConfigMap called forgotten')],
    ['workload-fault', workload('LimitRange', 'modest'), sees('how the object is cannot be told')],
  ]);
  assert.deepEqual(faults, []);
  await kubectl(['delete', 'resourceinterpretercustomization', 'limits']);
});

test('no violation of the content security policy, no error in the console', () => {
  assert.deepEqual(admin.faults, []);
});
