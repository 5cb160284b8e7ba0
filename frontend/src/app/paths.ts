/** Every address inside the dashboard. */
export const paths = {
  clusters: () => '/clusters',
  cluster: (name: string) => `/clusters/${encodeURIComponent(name)}`,
  addCluster: () => '/add-cluster',
  waiting: () => '/waiting',
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
  addCluster: '/add-cluster',
  waiting: '/waiting',
  registration: '/waiting/:id',
  tokens: '/tokens',
  audit: '/audit',
  users: '/users',
  sessions: '/sessions',
  settings: '/settings',
};
