/** The scheduler's own words: its filters, and why each leaves a cluster out. */
export const en = {
  available: (fit: string, all: string, reasons: string) => `${fit}/${all} clusters are available: ${reasons}.`,
  some: (n: string, reason: string) => `${n} ${reason}`,
  comma: ', ',
  about: {
    missing: (api: string) => `the API ${api} is missing`,
    taint: (taint: string) => `untolerated taint ${taint}`,
    elsewhere: (group: string) => `the group ${group} is elsewhere`,
    already: (group: string) => `the group ${group} is on it already`,
  },
  filters: {
    ClusterAffinity: 'Not chosen by the policy', TaintToleration: 'A taint keeps it away', APIEnablement: 'The cluster does not know the kind', SpreadConstraint: 'Lacks what is spread by',
    ClusterEviction: 'Being evicted from there', Selection: 'Fits, but is not needed', Replicas: 'Fits, but no replica falls to it', Terminating: 'Being removed',
    WorkloadAffinity: 'What it belongs to is elsewhere', WorkloadAntiAffinity: 'What it must be apart from is there',
  } as Record<string, string>,
  reasons: {
    'the cluster is being removed': 'the cluster is being removed',
    'not meant by the cluster affinity': 'not meant by the cluster affinity',
    'the workload is being evicted from it': 'the workload is being evicted from it',
    'no provider is set to spread by': 'no provider is set to spread by',
    'no region is set to spread by': 'no region is set to spread by',
    'no zone is set to spread by': 'no zone is set to spread by',
    'fits, but the spread constraints take no more clusters': 'fits, but the spread constraints take no more clusters',
    'fits, but its region was not chosen': 'fits, but its region was not chosen',
    'fits, but no weight is given to it': 'fits, but no weight is given to it',
    'fits, but no replica falls to it': 'fits, but no replica falls to it',
    'fits, but fewer clusters have room for all replicas': 'fits, but fewer clusters have room for all replicas',
  } as Record<string, string>,
};

export type SchedulingWords = typeof en;
