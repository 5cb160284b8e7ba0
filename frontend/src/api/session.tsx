/** Who is signed in, for every page below the gate, and what the role allows. */
import { createContext, useContext } from 'react';
import type { Role, SessionInfo } from '@/api/model';

const Context = createContext<SessionInfo | undefined>(undefined);
const ranks: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 };

export const SessionProvider = Context.Provider;

export function useSession(): SessionInfo {
  const session = useContext(Context);
  if (!session) throw new Error('useSession outside the session gate');
  return session;
}

/** Whether the user's role reaches the role that an action needs. The hub decides; this only greys out. */
export function useMay(role: Role): boolean {
  return ranks[useSession().user.role] >= ranks[role];
}
