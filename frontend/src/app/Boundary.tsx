import { Button } from '@mantine/core';
import { Component, type ReactNode } from 'react';
import { useWords } from '@/shared/hooks/useWords';
import { PartMissing } from '@/shared/part';
import { Notice } from '@/shared/ui/Notice';
import { appWords } from './words';

interface BoundaryProps {
  /** The address: another one is worth another try. */
  at: string;
  children: ReactNode;
}

const reloadedKey = 'muster.reloaded';
const reloadOnce = 60_000;

/** A page that cannot be drawn says so in its place; the frame around it stays. One of another version of the hub is loaded anew. */
export class Boundary extends Component<BoundaryProps, { error?: Error | undefined }> {
  override state: { error?: Error | undefined } = {};

  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override componentDidCatch(error: unknown) {
    if (!(error instanceof PartMissing) || Date.now() - Number(sessionStorage.getItem(reloadedKey)) < reloadOnce) return;
    sessionStorage.setItem(reloadedKey, String(Date.now()));
    location.reload();
  }

  override componentDidUpdate(before: BoundaryProps) {
    if (before.at !== this.props.at && this.state.error) this.setState({ error: undefined });
  }

  override render() {
    return this.state.error ? <Fault error={this.state.error} /> : this.props.children;
  }
}

function Fault({ error }: { error: Error }) {
  const words = useWords(appWords);
  const explained = error instanceof PartMissing ? words.partMissing : { ...words.pageFault, why: error.message };
  return <Notice explained={explained} action={<Button onClick={() => location.reload()}>{words.reload}</Button>} />;
}
