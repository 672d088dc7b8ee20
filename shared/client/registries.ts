import { type CallBody, type CallOptions, everyItem, type Http } from "./http.ts";
import type {
  Health,
  Host,
  LoginRecipeInput,
  Profile,
  PutHostInput,
  RecipeInput,
  StoredCookieInput,
  Worker,
  WorkerStatus,
} from "./types.ts";

/** An archive of hundreds of megabytes may take this long. */
const UPLOAD_MS = 600_000;

/** Host settings, recipes and cookies (rules/hosts#read-hosts). */
export function hostCalls(http: Http) {
  const at = (host: string, rest = "") => `/hosts/${encodeURIComponent(host)}${rest}`;
  return {
    list: (call?: CallOptions) => everyItem<Host>(http, "/hosts", "hosts", call),
    get: (host: string, call?: CallOptions) => http.json<Host>("GET", at(host), call),
    /** Replaces everything but the cookies, which stay when they are omitted. */
    put: (host: string, settings: PutHostInput, call?: CallOptions) =>
      http.json<Host>("PUT", at(host), { ...call, json: settings }),
    delete: (host: string, call?: CallOptions) => http.json<null>("DELETE", at(host), call),
    addRecipe: (host: string, recipe: RecipeInput, call?: CallOptions) =>
      http.json<Host>("POST", at(host, "/recipes"), { ...call, json: recipe }),
    deleteRecipe: (host: string, index: number, call?: CallOptions) =>
      http.json<null>("DELETE", at(host, `/recipes/${index}`), call),
    setLoginRecipe: (host: string, recipe: LoginRecipeInput, call?: CallOptions) =>
      http.json<Host>("PUT", at(host, "/login_recipe"), { ...call, json: recipe }),
    putCookies: (host: string, cookies: StoredCookieInput[], call?: CallOptions) =>
      http.json<Host>("PUT", at(host, "/cookies"), { ...call, json: { cookies } }),
  };
}

/** Browser profiles (rules/profiles#profile-record). */
export function profileCalls(http: Http) {
  const at = (name: string, rest = "") => `/profiles/${encodeURIComponent(name)}${rest}`;
  return {
    list: (call?: CallOptions) => everyItem<Profile>(http, "/profiles", "profiles", call),
    get: (name: string, call?: CallOptions) => http.json<Profile>("GET", at(name), call),
    /** `archive`: a tar, gzipped or not (rules/profiles#shapes-of-an-archive). */
    upload: (name: string, archive: CallBody, call: CallOptions = {}) =>
      http.json<Profile>("POST", at(name), {
        timeout_ms: UPLOAD_MS,
        ...call,
        body: archive,
        headers: { "content-type": "application/x-tar" },
      }),
    delete: (name: string, call?: CallOptions) => http.json<null>("DELETE", at(name), call),
    /** The name of the default profile, or null. */
    getDefault: async (call?: CallOptions) =>
      (await http.json<{ name: string | null }>("GET", "/profiles/default", call)).name,
    setDefault: (name: string, call?: CallOptions) =>
      http.json<unknown>("POST", at(name, "/default"), call),
    clearDefault: (call?: CallOptions) => http.json<null>("DELETE", "/profiles/default", call),
  };
}

/** Workers and health (rules/workers#list-and-read-workers). */
export function fleetCalls(http: Http) {
  const at = (worker_id: string, rest = "") => `/workers/${encodeURIComponent(worker_id)}${rest}`;
  return {
    health: (call?: CallOptions) => http.json<Health>("GET", "/health", call),
    workers: (call?: CallOptions) => everyItem<Worker>(http, "/workers", "workers", call),
    worker: (worker_id: string, call?: CallOptions) =>
      http.json<Worker>("GET", at(worker_id), call),
    setWorkerStatus: (worker_id: string, status: WorkerStatus, call?: CallOptions) =>
      http.json<Worker>("POST", at(worker_id, "/status"), { ...call, json: { status } }),
    deleteWorker: (worker_id: string, call?: CallOptions) =>
      http.json<null>("DELETE", at(worker_id), call),
  };
}
