import type { SchedulingWords } from '@/api/scheduling.en';

export const zh: SchedulingWords = {
  available: (fit, all, reasons) => `${all} 个集群中有 ${fit} 个可用：${reasons}。`,
  some: (n, reason) => `${n} 个${reason}`,
  comma: '，',
  about: {
    missing: (api) => `缺少 API ${api}`,
    taint: (taint) => `不容忍污点 ${taint}`,
    elsewhere: (group) => `组 ${group} 在其他集群`,
    already: (group) => `组 ${group} 已在该集群`,
  },
  filters: {
    ClusterAffinity: '策略没有选择它', TaintToleration: '被污点排除', APIEnablement: '集群不支持此类型', SpreadConstraint: '缺少分散所依据的字段',
    ClusterEviction: '正在从那里驱逐', Selection: '合适，但不需要', Replicas: '合适，但没有分到副本', Terminating: '正在移除',
    WorkloadAffinity: '同组的工作负载在其他集群', WorkloadAntiAffinity: '须避开的工作负载已在那里',
  },
  reasons: {
    'the cluster is being removed': '集群正在移除',
    'not meant by the cluster affinity': '不在集群亲和性范围内',
    'the workload is being evicted from it': '工作负载正在从中驱逐',
    'no provider is set to spread by': '没有可依据的提供商',
    'no region is set to spread by': '没有可依据的地域',
    'no zone is set to spread by': '没有可依据的可用区',
    'fits, but the spread constraints take no more clusters': '合适，但分散约束不再需要更多集群',
    'fits, but its region was not chosen': '合适，但其地域没有选中',
    'fits, but no weight is given to it': '合适，但没有给它权重',
    'fits, but no replica falls to it': '合适，但没有分到副本',
    'fits, but fewer clusters have room for all replicas': '合适，但更少的集群已能容纳全部副本',
  },
};
