export const en = {
  labelInput: 'New label',
  labelHint: 'key=value',
  addLabel: 'Add label',
  removeLabel: (label: string) => `Remove label ${label}`,
  badLabel: 'Write it as key=value',
  taintKey: 'Key',
  taintValue: 'Value',
  taintEffect: 'Effect',
  addTaint: 'Add taint',
  removeTaint: (taint: string) => `Remove taint ${taint}`,
  byHub: 'Set by the hub',
  save: 'Save',
  discard: 'Discard',
};

export type EditorWords = typeof en;
