/** What was done, as the audit names it; an action that is not here is shown by its own name. */
export const en = { accept: 'accept', apply: 'apply', approve: 'approve', bind: 'bind', cancel: 'cancel', create: 'create', delete: 'delete', deletecollection: 'deletecollection', deny: 'deny', join: 'join', login: 'login', logout: 'logout', onboard: 'onboard', patch: 'patch', register: 'register', renew: 'renew', revoke: 'revoke', update: 'update' } as Record<string, string>;

export type Verbs = typeof en;
