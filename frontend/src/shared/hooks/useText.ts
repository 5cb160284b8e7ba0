import { useEffect, useRef, useState } from 'react';

/** A text that is typed here and told outside once typing pauses; a change from outside is taken over. */
export function useText(value: string, tell: (text: string) => void, wait = 200): [string, (text: string) => void] {
  const [text, setText] = useState(value);
  const [known, setKnown] = useState(value);
  const latest = useRef(tell);
  useEffect(() => { latest.current = tell; });
  if (known !== value) {
    setKnown(value);
    setText(value);
  }
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => latest.current(text), wait);
    return () => clearTimeout(timer);
  }, [text, value, wait]);
  return [text, setText];
}
