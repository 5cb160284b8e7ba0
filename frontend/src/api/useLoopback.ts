import { useQuery } from '@tanstack/react-query';
import { infoOptions } from './hub';

/** The address that the hub tells agents, if it means the hub on the hub's own machine alone: no other cluster gets there. */
export function useLoopback(): string | undefined {
  const { data: info } = useQuery(infoOptions);
  return info?.hubAddress && isLoopback(info.hubAddress) ? info.hubAddress : undefined;
}

export function isLoopback(address: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i.test(address);
}
