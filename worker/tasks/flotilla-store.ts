/**
 * State and blobs of the plugin a task belongs to: `ctx.state` and `ctx.blob` of a TypeScript module. Written next to
 * the runner, so it imports nothing from the worker.
 */

/** The store refused the call; `status` is the status of its answer. */
class StoreError extends Error {
  readonly status: number;
  constructor(status: number, detail: unknown) {
    super(`${typeof detail === "string" ? detail : JSON.stringify(detail)} (status ${status})`);
    this.name = "StoreError";
    this.status = status;
  }
}

const TIMEOUT_MS = 60_000;

async function refused(answer: Response): Promise<StoreError> {
  const text = await answer.text();
  try {
    return new StoreError(answer.status, JSON.parse(text).detail);
  } catch {
    return new StoreError(answer.status, text.slice(0, 200));
  }
}

/** `url`: the value of FLOTILLA_STORE_URL, which the worker sets. */
export function openStore(url: string | undefined) {
  const call = (method: string, kind: string, key: string, init: RequestInit = {}) => {
    if (!url) throw new Error("this workload runs no plugin, so it has no state and no blobs");
    const at = `${url}/${kind}/${encodeURIComponent(key)}`;
    return fetch(at, { ...init, method, signal: AbortSignal.timeout(TIMEOUT_MS) });
  };
  const remove = (kind: string) => async (key: string) => {
    const answer = await call("DELETE", kind, key);
    if (answer.status !== 204 && answer.status !== 404) throw await refused(answer);
  };
  const read = async (key: string, fallback: unknown) => {
    const answer = await call("GET", "state", key);
    if (answer.status === 404) return { value: fallback, version: null };
    if (!answer.ok) throw await refused(answer);
    const { value } = (await answer.json()) as { value: unknown };
    return { value, version: answer.headers.get("etag") };
  };
  const write = async (key: string, value: unknown, condition: Record<string, string>) => {
    const headers = { "content-type": "application/json", ...condition };
    const body = JSON.stringify(value ?? null);
    const answer = await call("PUT", "state", key, { body, headers });
    if (!answer.ok) throw await refused(answer);
  };
  return {
    /** JSON values by key. Keys may hold slashes. */
    state: {
      get: async (key: string, fallback: unknown = null) => (await read(key, fallback)).value,
      set: (key: string, value: unknown) => write(key, value, {}),
      /**
       * Replaces the value by what `change` returns for it; when another task was quicker, `change` is called again.
       */
      update: async (
        key: string,
        change: (value: unknown) => unknown,
        fallback: unknown = null,
      ): Promise<unknown> => {
        for (;;) {
          const { value, version } = await read(key, fallback);
          const after = await change(value);
          try {
            await write(
              key,
              after,
              version === null ? { "if-none-match": "*" } : { "if-match": version },
            );
            return after;
          } catch (err) {
            if (!(err instanceof StoreError) || err.status !== 412) throw err;
          }
        }
      },
      delete: remove("state"),
    },
    /** Bytes by key, at most 5 MB each. */
    blob: {
      get: async (key: string): Promise<Uint8Array | null> => {
        const answer = await call("GET", "blob", key);
        if (answer.status === 404) return null;
        if (!answer.ok) throw await refused(answer);
        return answer.bytes();
      },
      set: async (key: string, body: string | Uint8Array, type = "application/octet-stream") => {
        const answer = await call("PUT", "blob", key, { body, headers: { "content-type": type } });
        if (!answer.ok) throw await refused(answer);
      },
      delete: remove("blob"),
    },
  };
}

/** The worker imports this file as text; as a module it is what the runner opens. */
// biome-ignore lint/style/noDefaultExport: the type of a text import is its default export
export default "flotilla-store" as string;
