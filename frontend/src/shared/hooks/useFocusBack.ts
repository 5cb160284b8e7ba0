import { useEffect, useState } from 'react';

/**
 * What is mounted to be open gives the keyboard back when it goes: to what had it before, to the button of a menu that has
 * closed meanwhile, else to the page's content; never to the top of the document.
 */
export function useFocusBack(): void {
  const [opener] = useState(openerNow);
  useEffect(() => () => {
    // Whoever has the keyboard by then, a page just reached for one, keeps it.
    if (document.activeElement && document.activeElement !== document.body) return;
    const target = opener?.isConnected ? opener : document.querySelector<HTMLElement>('main');
    target?.focus({ preventScroll: true });
  }, [opener]);
}

function openerNow(): HTMLElement | null {
  const active = document.activeElement;
  const menu = active?.closest('[role="menu"]');
  const button = menu?.id ? document.querySelector<HTMLElement>(`[aria-controls="${CSS.escape(menu.id)}"]`) : null;
  return button ?? (active instanceof HTMLElement && active !== document.body ? active : null);
}
