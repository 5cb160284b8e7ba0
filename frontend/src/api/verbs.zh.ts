import type { Verbs } from './verbs.en';

export const zh: Verbs = { accept: '接受', apply: '应用', approve: '批准', bind: '绑定', cancel: '取消', create: '创建', delete: '删除', deletecollection: '批量删除', deny: '拒绝', join: '加入', login: '登录', logout: '退出登录', onboard: '接入', patch: '修补', register: '注册', renew: '续期', revoke: '吊销', update: '更新' };
