import { del } from '@/api/client';
import { endSession, leaveSession } from '@/api/hub';

/** Ends the session in the hub and forgets it here, even when the hub does not answer. */
export function useSignOut(): () => void {
  return () => {
    leaveSession();
    void del('/session').catch(() => undefined).finally(() => endSession());
  };
}
