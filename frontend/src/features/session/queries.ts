import { mutationOptions } from '@tanstack/react-query';
import { del, post } from '@/api/client';
import { beginSession, liveList, queryClient } from '@/api/hub';
import type { Page, Session, SessionInfo } from '@/api/model';

export const signIn = mutationOptions({
  mutationFn: (credentials: { username: string; password: string }) => post<SessionInfo>('/session', credentials),
  onSuccess: beginSession,
});

export const changePassword = mutationOptions({
  mutationFn: (passwords: { current: string; next: string }) => post<SessionInfo>('/session/password', passwords),
  onSuccess: beginSession,
});

export const sessionList = liveList<Page<Session>>('sessions', '/sessions', {});

export const endOneSession = mutationOptions({
  mutationFn: (id: string) => del(`/sessions/${encodeURIComponent(id)}`),
  onSettled: () => queryClient.invalidateQueries({ queryKey: ['sessions'] }),
});
