/** What names a policy: the resource's plural, the namespace if it has one, and the name. */
export interface PolicyAt {
  resource: string;
  namespace?: string;
  name: string;
}

function policyKey({ resource, namespace, name }: PolicyAt): string {
  return [resource, namespace || '-', name].map(encodeURIComponent).join('/');
}

/** What names an object of the hub. */
export interface ObjectAt {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
}

function objectKey({ apiVersion, kind, namespace, name }: ObjectAt): string {
  const [version = '', group = 'core'] = apiVersion.split('/').reverse();
  return [group, version, kind, namespace || '-', name].map(encodeURIComponent).join('/');
}

/** Every address inside the dashboard. */
export const paths = {
  clusters: () => '/clusters',
  cluster: (name: string) => `/clusters/${encodeURIComponent(name)}`,
  managedClusters: () => '/managed-clusters',
  managedCluster: (name: string) => `/managed-clusters/${encodeURIComponent(name)}`,
  clusterSets: () => '/cluster-sets',
  placements: () => '/placements',
  placement: ({ namespace, name }: { namespace: string; name: string }) => `/placements/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`,
  operators: () => '/operators',
  addCluster: () => '/add-cluster',
  introduceCluster: () => '/add-cluster/ocm',
  introduced: (cluster: string) => `/add-cluster/ocm/${encodeURIComponent(cluster)}`,
  workloads: () => '/workloads',
  workload: (at: ObjectAt) => `/workloads/${objectKey(at)}`,
  newWorkload: () => '/workloads/new',
  editWorkload: (at: ObjectAt) => `/workloads/${objectKey(at)}/edit`,
  policies: () => '/policies',
  policy: (at: PolicyAt) => `/policies/${policyKey(at)}`,
  editPolicy: (at: PolicyAt) => `/policies/${policyKey(at)}/edit`,
  policyGallery: () => '/policies/new',
  newPolicy: (resource: string) => `/policies/new/${encodeURIComponent(resource)}`,
  /** The editor with a policy that means this one object. */
  newPolicyFor: ({ apiVersion, kind, namespace = '', name }: ObjectAt) => `/policies/new/${namespace ? 'propagationpolicies' : 'clusterpropagationpolicies'}?${new URLSearchParams({ apiVersion, kind, namespace, name })}`,
  waiting: () => '/waiting',
  joining: () => '/waiting/joining',
  approvalRules: () => '/waiting/rules',
  registration: (id: string) => `/waiting/${encodeURIComponent(id)}`,
  tokens: () => '/tokens',
  audit: () => '/audit',
  users: () => '/users',
  sessions: () => '/sessions',
  settings: () => '/settings',
};

/** The patterns that the router matches; a parameter is decoded by it. */
export const patterns = {
  clusters: '/clusters',
  cluster: '/clusters/:name',
  managedClusters: '/managed-clusters',
  managedCluster: '/managed-clusters/:name',
  clusterSets: '/cluster-sets',
  placements: '/placements',
  placement: '/placements/:namespace/:name',
  operators: '/operators',
  addCluster: '/add-cluster',
  introduceCluster: '/add-cluster/ocm',
  introduced: '/add-cluster/ocm/:cluster',
  workloads: '/workloads',
  newWorkload: '/workloads/new',
  workload: '/workloads/:group/:version/:kind/:namespace/:name',
  editWorkload: '/workloads/:group/:version/:kind/:namespace/:name/edit',
  policies: '/policies',
  policyGallery: '/policies/new',
  newPolicy: '/policies/new/:resource',
  policy: '/policies/:resource/:namespace/:name',
  editPolicy: '/policies/:resource/:namespace/:name/edit',
  waiting: '/waiting',
  joining: '/waiting/joining',
  approvalRules: '/waiting/rules',
  registration: '/waiting/:id',
  tokens: '/tokens',
  audit: '/audit',
  users: '/users',
  sessions: '/sessions',
  settings: '/settings',
};
