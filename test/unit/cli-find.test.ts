import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Terminal } from "#hub/program/cli/print.ts";
import { runClientCommand } from "#hub/program/cli/run-command.ts";

/** `flotilla find` and `--label`, against a hub that says what it was asked (rules/search#calls). */

let server: ReturnType<typeof Bun.serve>;
let has_fleet = true;
const asked: string[] = [];
let submitted: unknown;

const hit = (kind: string, id: string, title: string) => ({
  kind,
  id,
  title,
  detail: "somewhere",
  state: "completed",
  at: null,
  href: `/jobs/${id}`,
  workload: null,
});

beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      asked.push(pathname + search);
      if (pathname === "/jobs") return Response.json({ jobs: [], next_cursor: null });
      if (pathname.endsWith("/tasks/batch")) {
        submitted = await request.json();
        return Response.json({ submitted: 1, duplicates: 0, pks_rejected: [] }, { status: 201 });
      }
      if (pathname === "/search" && !has_fleet)
        return Response.json({ detail: "no such path" }, { status: 404 });
      const fleet = pathname === "/search";
      const hits = search.includes("nothing")
        ? []
        : [fleet ? hit("job", "j1", "Invoices") : hit("pull_worker", "p1", "p1")];
      return Response.json({ q: "x", hits, incomplete: fleet ? [] : ["run"] });
    },
  });
});
afterAll(() => server.stop(true));

async function run(command: "find" | "jobs" | "submit", words: string[], flags = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const terminal: Terminal = {
    out: (text: string) => void out.push(text),
    err: (text: string) => void err.push(text),
    width: 200,
  } as Terminal;
  const env = { SVC_HUB: `http://127.0.0.1:${server.port}` };
  const { signal } = new AbortController();
  const code = await runClientCommand(command, words, flags, env, terminal, signal);
  return { code, out: out.join(""), err: err.join("") };
}

test("both services are asked for all words, and what could not be searched is said", async () => {
  const { code, out, err } = await run("find", ["two", "words"], { limit: ["5"] });
  expect(code).toBe(0);
  expect(asked.slice(-2).sort()).toEqual([
    "/api/v1/search?q=two+words&limit=5",
    "/search?q=two+words&limit=5",
  ]);
  expect(out).toContain("Invoices");
  expect(out).toContain("pull worker");
  expect(err).toContain("could not be searched in time: run");
});

test("a control plane has no fleet to search; nothing found is exit code 1", async () => {
  has_fleet = false;
  expect((await run("find", ["x"])).out).toContain("p1");
  has_fleet = true;
  expect(await run("find", ["nothing"])).toMatchObject({ code: 1, out: "nothing was found\n" });
});

test("--label narrows lists, and is given to tasks that name none of their own (rules/labels#find-by-label)", async () => {
  await run("jobs", [], { label: ["team:a", "env"] });
  expect(asked.at(-1)).toBe("/jobs?label=team%3Aa&label=env");
  await run("submit", ["work", "k1"], { label: ["team:a:b"] });
  expect(submitted).toEqual({ items: [{ pk: "k1", labels: { team: "a:b" } }] });
  expect(run("submit", ["work", "k1"], { label: ["team"] })).rejects.toThrow("is not KEY:VALUE");
});
