import { useState } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { CommandBlock } from '@/shared/ui/CommandBlock';
import { Dialog } from '@/shared/ui/Dialog';
import { TabBar } from '@/shared/ui/TabBar';
import { curlCommand, kubectlCommand } from './code';
import type { Identity } from './identity';
import styles from './PolicyEditor.module.css';
import { editorWords } from './words';

const tools = { kubectl: 'kubectl apply', curl: 'curl' } as const;

/** The save button's act as a command to copy. */
export default function CodeDialog({ yaml, identity, onClose }: { yaml: string; identity: Identity; onClose: () => void }) {
  const words = useWords(editorWords);
  const [tool, setTool] = useState<keyof typeof tools>('kubectl');
  return (
    <Dialog wide title={words.asCodeTitle} onClose={onClose}>
      <div className={styles['code']}>
        <p>{words.asCodeText} {words.curlText}</p>
        <TabBar label={words.asCode} panel="code" chosen={tool} tabs={Object.entries(tools).map(([key, label]) => ({ key, label }))} onChoose={(key) => setTool(key === 'curl' ? 'curl' : 'kubectl')} />
        <div role="tabpanel" id="code" aria-labelledby={`code-${tool}`}>
          <CommandBlock key={tool} text={tool === 'curl' ? curlCommand(yaml, identity) : kubectlCommand(yaml)} what={tools[tool]} />
        </div>
      </div>
    </Dialog>
  );
}
