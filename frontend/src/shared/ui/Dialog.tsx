import '@mantine/core/styles/Overlay.layer.css';
import '@mantine/core/styles/Paper.layer.css';
import '@mantine/core/styles/ModalBase.layer.css';
import '@mantine/core/styles/Modal.layer.css';
import { Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import styles from './Dialog.module.css';
import { uiWords } from './words';

interface DialogProps {
  title: string;
  onClose: () => void;
  wide?: boolean;
  children: ReactNode;
}

/** A dialog over the page; mount it to open it. Escape, the cross and a click beside it close it. */
export function Dialog({ title, onClose, wide = false, children }: DialogProps) {
  const words = useWords(uiWords);
  return (
    <Modal
      opened onClose={onClose} title={title} size={wide ? 680 : 460} transitionProps={{ transition: 'fade', duration: 120 }}
      closeButtonProps={{ 'aria-label': words.close }} classNames={{ title: styles['title'], content: styles['content'], header: styles['header'] }}
    >
      {children}
    </Modal>
  );
}

/** The buttons at a dialog's foot. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return <div className={styles['buttons']}>{children}</div>;
}
