export const en = {
  title: 'Settings',
  hub: 'This hub',
  version: 'Version',
  address: 'Address for agents',
  caPin: 'CA pin',
  caPinHint: 'Agents check this before they send their token.',
  agentImage: 'Agent image',
  look: 'Look',
  language: 'Language',
  theme: 'Theme',
  themes: { auto: 'As the system', light: 'Light', dark: 'Dark' },
  api: 'API',
  apiText: 'Everything here can be done by REST too, under your own rights.',
  apiLink: 'API documentation',
  command: 'Command line',
  commandText: 'An administrator’s kubeconfig for kubectl and karmadactl is printed, on the hub’s machine, by:',
  notSet: 'not set',
};

export type SettingWords = typeof en;
