import type { CallBody } from "./body.ts";
import type {
  FigureRange,
  Figures,
  Health,
  Host,
  LoginRecipeInput,
  Profile,
  PutHostInput,
  RecipeInput,
  StoredCookieInput,
  Worker,
  WorkerStatus,
} from "./client-types.ts";
import { type CallOptions, everyItem, type Http } from "./http.ts";

/** An archive of hundreds of megabytes may take this long. */
const UPLOAD_MS = 600_000;

/** Host settings, recipes and cookies (rules/hosts#read-hosts). */
export function hostCalls(http: Http) {
  const of = (host: string) => ({ params: { host } });
  return {
    list: (call?: CallOptions): Promise<Host[]> => everyItem(http, "GET /hosts", "hosts", call),
    get: (host: string, call?: CallOptions): Promise<Host> =>
      http.call("GET /hosts/{host}", { ...call, ...of(host) }),
    /** Replaces everything but the cookies, which stay when they are omitted. */
    put: (host: string, settings: PutHostInput, call?: CallOptions): Promise<Host> =>
      http.call("PUT /hosts/{host}", { ...call, ...of(host), json: settings }),
    delete: (host: string, call?: CallOptions): Promise<null> =>
      http.call("DELETE /hosts/{host}", { ...call, ...of(host) }),
    addRecipe: (host: string, recipe: RecipeInput, call?: CallOptions): Promise<Host> =>
      http.call("POST /hosts/{host}/recipes", { ...call, ...of(host), json: recipe }),
    deleteRecipe: (host: string, index: number, call?: CallOptions): Promise<Host> =>
      http.call("DELETE /hosts/{host}/recipes/{index}", { ...call, params: { host, index } }),
    setLoginRecipe: (host: string, recipe: LoginRecipeInput, call?: CallOptions): Promise<Host> =>
      http.call("PUT /hosts/{host}/login_recipe", { ...call, ...of(host), json: recipe }),
    putCookies: (host: string, cookies: StoredCookieInput[], call?: CallOptions): Promise<Host> =>
      http.call("PUT /hosts/{host}/cookies", { ...call, ...of(host), json: { cookies } }),
  };
}

/** Browser profiles (rules/profiles#profile-record). */
export function profileCalls(http: Http) {
  const of = (name: string) => ({ params: { name } });
  return {
    list: (call?: CallOptions): Promise<Profile[]> =>
      everyItem(http, "GET /profiles", "profiles", call),
    get: (name: string, call?: CallOptions): Promise<Profile> =>
      http.call("GET /profiles/{name}", { ...call, ...of(name) }),
    /** `archive`: a tar, gzipped or not (rules/profiles#shapes-of-an-archive). */
    upload: (name: string, archive: CallBody, call: CallOptions = {}): Promise<Profile> =>
      http.call("POST /profiles/{name}", {
        timeout_ms: UPLOAD_MS,
        ...call,
        ...of(name),
        body: archive,
        headers: { "content-type": "application/x-tar" },
      }),
    delete: (name: string, call?: CallOptions): Promise<null> =>
      http.call("DELETE /profiles/{name}", { ...call, ...of(name) }),
    /** The name of the default profile, or null. */
    getDefault: async (call?: CallOptions): Promise<string | null> =>
      (await http.call("GET /profiles/default", call)).name,
    setDefault: (name: string, call?: CallOptions): Promise<unknown> =>
      http.call("POST /profiles/{name}/default", { ...call, ...of(name) }),
    clearDefault: (call?: CallOptions): Promise<unknown> =>
      http.call("DELETE /profiles/default", call),
  };
}

/** Workers and health (rules/workers#list-and-read-workers). */
export function fleetCalls(http: Http) {
  const of = (worker_id: string) => ({ params: { id: worker_id } });
  return {
    health: (call?: CallOptions): Promise<Health> => http.call("GET /health", call),
    /** What the fleet does, what went wrong and why. */
    figures: (range: FigureRange = "24h", call?: CallOptions): Promise<Figures> =>
      http.call("GET /figures", { ...call, query: { range } }),
    workers: (call?: CallOptions): Promise<Worker[]> =>
      everyItem(http, "GET /workers", "workers", call),
    worker: (worker_id: string, call?: CallOptions): Promise<Worker> =>
      http.call("GET /workers/{id}", { ...call, ...of(worker_id) }),
    setWorkerStatus: (
      worker_id: string,
      status: WorkerStatus,
      call?: CallOptions,
    ): Promise<Worker> =>
      http.call("POST /workers/{id}/status", { ...call, ...of(worker_id), json: { status } }),
    deleteWorker: (worker_id: string, call?: CallOptions): Promise<null> =>
      http.call("DELETE /workers/{id}", { ...call, ...of(worker_id) }),
  };
}
