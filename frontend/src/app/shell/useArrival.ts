import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';

/**
 * What a browser does at a page load and a router does not: a new page begins at its top, and the keyboard in its content.
 * Going back keeps the scroll position that the browser restores.
 */
export function useArrival(contentId: string): void {
  const [location] = useLocation();
  const shown = useRef(location);
  const back = useRef(false);
  useEffect(() => {
    const remember = () => { back.current = true; };
    window.addEventListener('popstate', remember);
    return () => window.removeEventListener('popstate', remember);
  }, []);
  useEffect(() => {
    if (shown.current === location) return;
    shown.current = location;
    if (!back.current) window.scrollTo({ top: 0 });
    back.current = false;
    const content = document.getElementById(contentId);
    if (content && !content.contains(document.activeElement)) content.focus({ preventScroll: true });
  }, [location, contentId]);
}
