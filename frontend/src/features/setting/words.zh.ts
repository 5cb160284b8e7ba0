import type { SettingWords } from './words.en';

export const zh: SettingWords = {
  title: '设置',
  hub: '本中心',
  version: '版本',
  address: '代理使用的地址',
  caPin: 'CA 指纹',
  caPinHint: '代理在发送令牌之前会核对它。',
  agentImage: '代理镜像',
  look: '外观',
  language: '语言',
  theme: '主题',
  themes: { auto: '跟随系统', light: '浅色', dark: '深色' },
  api: 'API',
  apiText: '这里的一切也可以通过 REST 完成，权限与你相同。',
  apiLink: 'API 文档',
  command: '命令行',
  commandText: '在中心所在的机器上，用此命令打印 kubectl 和 karmadactl 使用的管理员 kubeconfig：',
  notSet: '未设置',
};
