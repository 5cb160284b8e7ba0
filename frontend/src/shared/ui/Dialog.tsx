import '@mantine/core/styles/Overlay.layer.css';
import '@mantine/core/styles/Paper.layer.css';
import '@mantine/core/styles/ModalBase.layer.css';
import '@mantine/core/styles/Modal.layer.css';
import { Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { useFocusBack } from '@/shared/hooks/useFocusBack';
import { useWords } from '@/shared/hooks/useWords';
import styles from './Dialog.module.css';
import { uiWords } from './words';

interface DialogProps {
  title: string;
  onClose: () => void;
  wide?: boolean;
  children: ReactNode;
}

/** A dialog over the page; mount it to open it. Escape, the cross and a click beside it close it, and the keyboard is where it was. */
export function Dialog({ title, onClose, wide = false, children }: DialogProps) {
  const words = useWords(uiWords);
  useFocusBack();
  return (
    <Modal.Root classNames={{ content: styles['content'] }} opened onClose={onClose} size={wide ? 680 : 460} transitionProps={{ transition: 'fade', duration: 120 }}>
      <Modal.Overlay />
      <Modal.Content>
        {/* A header element outside of main would be the page's banner. */}
        <Modal.Header className={styles['header']} role="presentation">
          <Modal.Title className={styles['title']}>{title}</Modal.Title>
          <Modal.CloseButton aria-label={words.close} />
        </Modal.Header>
        <Modal.Body>{children}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

/** The buttons at a dialog's foot. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return <div className={styles['buttons']}>{children}</div>;
}
