/**
 * `fetch` for the LAN, another hub or a worker's bridge: a proxy to the outside world (HTTP_PROXY) does not know
 * them. Bun takes `false`, which its types do not have.
 */
export const fetchDirect = (url: string, init: BunFetchRequestInit): Promise<Response> =>
  fetch(url, { ...init, proxy: false } as unknown as BunFetchRequestInit);
