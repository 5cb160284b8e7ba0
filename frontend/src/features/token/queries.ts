import { mutationOptions } from '@tanstack/react-query';
import { del, post } from '@/api/client';
import { liveList, queryClient } from '@/api/hub';
import type { NewToken, Page, Token, TokenCreated } from '@/api/model';

export const tokenList = liveList<Page<Token>>('tokens', '/tokens', {});

const refresh = () => queryClient.invalidateQueries({ queryKey: ['tokens'] });

export const createToken = mutationOptions({
  gcTime: 0,
  mutationFn: (request: NewToken) => post<TokenCreated>('/tokens', request),
  onSuccess: refresh,
});

export const revokeToken = mutationOptions({
  mutationFn: (id: string) => del(`/tokens/${encodeURIComponent(id)}`),
  onSuccess: refresh,
});
