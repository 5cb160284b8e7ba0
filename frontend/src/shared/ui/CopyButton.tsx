import { Button } from '@mantine/core';
import IconCheck from '@tabler/icons-react/dist/esm/icons/IconCheck.mjs';
import IconCopy from '@tabler/icons-react/dist/esm/icons/IconCopy.mjs';
import { useClipboard } from '@mantine/hooks';
import { useWords } from '@/shared/hooks/useWords';
import { uiWords } from './words';

/** Copies a text and says so in place. `what` completes the button's name where several stand on a page. */
export function CopyButton({ text, what }: { text: string; what?: string }) {
  const words = useWords(uiWords);
  const clipboard = useClipboard({ timeout: 1_500 });
  const word = clipboard.copied ? words.copied : words.copy;
  return (
    <Button
      variant="default" size="compact-sm" aria-label={what ? `${word}: ${what}` : undefined}
      leftSection={clipboard.copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
      onClick={() => clipboard.copy(text)}
    >
      <span aria-live="polite">{word}</span>
    </Button>
  );
}
