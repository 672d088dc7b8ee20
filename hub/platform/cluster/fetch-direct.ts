/**
 * `fetch` of what is in the LAN, another hub or a worker's bridge: a proxy to the world outside (HTTP_PROXY) does not know
 * it. Bun takes `false`, which its types do not have.
 */
export const fetchDirect = (url: string, init: BunFetchRequestInit): Promise<Response> =>
  fetch(url, { ...init, proxy: false } as unknown as BunFetchRequestInit);
