import { mutationOptions } from '@tanstack/react-query';
import { del, patch, post } from '@/api/client';
import { liveList, queryClient } from '@/api/hub';
import type { NewUser, Page, User, UserChange, UserCreated } from '@/api/model';

export const userList = liveList<Page<User>>('users', '/users', {});

const path = (name: string) => `/users/${encodeURIComponent(name)}`;
const refresh = () => queryClient.invalidateQueries({ queryKey: ['users'] });

export const createUser = mutationOptions({
  gcTime: 0,
  mutationFn: (user: NewUser) => post<UserCreated>('/users', user),
  onSuccess: refresh,
});

export function changeUser(name: string) {
  return mutationOptions({
    gcTime: 0,
    mutationFn: (change: UserChange) => patch<UserCreated>(path(name), change),
    onSuccess: refresh,
  });
}

export function deleteUser(name: string) {
  return mutationOptions({ mutationFn: () => del(path(name)), onSuccess: refresh });
}
