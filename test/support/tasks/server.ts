import { join } from "node:path";
import { TASKS } from "./list.ts";
import type { Task } from "./task.ts";

/** What a real backend takes; long enough that a page shows its spinner. */
const LATENCY_MS = 60;
const COOKIE = "visitor";

export interface TaskServer {
  /** Where a job for this task starts; `run` names it in `statesOf`. */
  urlOf(task: Task, run: string): string;
  /** What the server knows of the run's visitors, in order: every attempt begins as a new one. */
  statesOf(task: Task, run: string): unknown[];
  /** How many requests its site had so far, from whomever. */
  requests(task: Task): number;
  stop(): Promise<void>;
}

interface Visitor {
  run: string | null;
  states: Map<Task, unknown>;
}

/** Every site of the set on one port of 127.0.0.1, each below its task's name. Visitors are told apart by a cookie. */
export function startTaskServer(tasks: readonly Task[] = TASKS): TaskServer {
  const visitors = new Map<string, Visitor>();
  const stateOf = (visitor: Visitor, task: Task): unknown => {
    const state = visitor.states.get(task) ?? task.newState();
    visitor.states.set(task, state);
    return state;
  };
  const visitorOf = (request: Request, run: string | null): { id: string; visitor: Visitor } => {
    const known = new Bun.CookieMap(request.headers.get("cookie") ?? "").get(COOKIE);
    const found = known ? visitors.get(known) : undefined;
    // A run that starts again is somebody new once its cookie is gone; one that begins always is.
    if (known && found && (run === null || found.run === run)) return { id: known, visitor: found };
    const id = crypto.randomUUID();
    const visitor = { run, states: new Map() };
    visitors.set(id, visitor);
    return { id, visitor };
  };

  const requests = new Map<Task, number>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const url = new URL(request.url);
      const [, name = "", ...rest] = url.pathname.split("/");
      const task = tasks.find((one) => one.name === name);
      if (!task) return new Response("not here", { status: 404 });
      requests.set(task, (requests.get(task) ?? 0) + 1);
      const { id, visitor } = visitorOf(request, url.searchParams.get("run"));
      const answer = await answerOf(task, rest, request, url, visitor);
      answer.headers.append("set-cookie", `${COOKIE}=${id}; Path=/; HttpOnly; SameSite=Lax`);
      return answer;
    },
  });

  async function answerOf(
    task: Task,
    rest: string[],
    request: Request,
    url: URL,
    visitor: Visitor,
  ): Promise<Response> {
    const state = stateOf(visitor, task);
    if (rest[0] === "api") {
      await Bun.sleep(LATENCY_MS);
      return task.answer({
        state,
        method: request.method,
        path: rest.slice(1).join("/"),
        query: url.searchParams,
        request,
        all: () => [...visitors.values()].flatMap(({ states }) => states.get(task) ?? []),
      });
    }
    const file = rest.join("/") || "page.html";
    if (!/^[a-z-]+\.html$/.test(file)) return new Response("not here", { status: 404 });
    const page = Bun.file(join(import.meta.dir, task.name, file));
    if (!(await page.exists())) return new Response("not here", { status: 404 });
    return new Response(await page.text(), { headers: { "content-type": "text/html" } });
  }

  return {
    urlOf: ({ name }, run) => `http://127.0.0.1:${server.port}/${name}/?run=${run}`,
    statesOf: (task, run) =>
      [...visitors.values()]
        .filter((visitor) => visitor.run === run)
        .map((visitor) => stateOf(visitor, task)),
    requests: (task) => requests.get(task) ?? 0,
    stop: () => server.stop(true),
  };
}
