import { Button } from '@mantine/core';
import { useWords } from '@/shared/hooks/useWords';
import { Dialog, DialogButtons } from './Dialog';
import { uiWords } from './words';

/** Asks before what was typed is thrown away. */
export function DiscardDialog({ onKeep, onDiscard }: { onKeep: () => void; onDiscard: () => void }) {
  const words = useWords(uiWords);
  return (
    <Dialog title={words.discardTitle} onClose={onKeep}>
      <p>{words.discardText}</p>
      <DialogButtons>
        <Button variant="default" data-autofocus onClick={onKeep}>{words.keepEditing}</Button>
        <Button color="red" onClick={onDiscard}>{words.discard}</Button>
      </DialogButtons>
    </Dialog>
  );
}
