import type { EditorWords } from './words.en';

export const zh: EditorWords = {
  labelInput: '新标签',
  labelHint: 'key=value',
  addLabel: '添加标签',
  removeLabel: (label) => `移除标签 ${label}`,
  badLabel: '请写成 key=value',
  taintKey: '键',
  taintValue: '值',
  taintEffect: '效果',
  addTaint: '添加污点',
  removeTaint: (taint) => `移除污点 ${taint}`,
  byHub: '由中心设置',
  save: '保存',
  discard: '放弃',
};
