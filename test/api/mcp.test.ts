import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { routeTable } from "#hub/platform/http/access.ts";
import { createHubApp } from "#hub/program/app.ts";
import { describeTool } from "#hub/program/mcp/server.ts";
import { TOOLS } from "#hub/program/mcp/tools.ts";
import type { Role } from "#shared/protocol/schema/token.ts";
import {
  type Agent,
  type AgentOptions,
  connectAgent,
  type TransportName,
} from "#test/support/clients/mcp-client.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";
import { cleanEnv, PROGRAM } from "#test/support/rigs/program.ts";

/** Who may use which tool, and what the hub keeps of agents (rules/mcp). What tools do with browsers: `test/e2e/mcp.test.ts`. */

setDefaultTimeout(120_000);

const PASSWORD = "password-of-the-test";
const password = { "x-admin-password": PASSWORD };
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
};
const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list" };
const BOTH = { accept: "application/json, text/event-stream" };

let hub: TestHub;
const agents: Agent[] = [];
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.close();
  await hub?.close();
});
const start = async (options: TestHubOptions = {}) => {
  hub = await startTestHub(options);
};
async function connect(transport: TransportName, options?: AgentOptions): Promise<Agent> {
  const agent = await connectAgent(transport, hub.url, options);
  agents.push(agent);
  return agent;
}
async function tokenOf(role: Role): Promise<{ token: string; token_id: string }> {
  const { status, body } = await hub.call(
    "POST",
    "/tokens",
    { name: role, role },
    { headers: password },
  );
  expect({ status, body }).toMatchObject({ status: 201 });
  await hub.everywhere((ctx) => ctx.tokens.exist);
  return body;
}
const send = (body: unknown, headers: Record<string, string> = {}) =>
  hub.call("POST", "/mcp", body, { headers: { ...BOTH, ...headers } });

const RANKS = ["view", "submit", "operate"];

test("a tool asks for the role that its strictest call asks for, and belongs to the service that answers it (rules/mcp#roles)", async () => {
  await start({ alone: true });
  const routes = new Map(
    routeTable(createHubApp(hub.ctx)).map(({ method, path, rules }) => [
      `${method} ${path.replace(/:(\w+)/g, "{$1}")}`,
      rules.access as string,
    ]),
  );
  for (const { name, calls, access, part } of TOOLS) {
    const asked = calls.map((call) => routes.get(call) ?? `no route ${call}`);
    const strictest = [...asked].sort((a, b) => RANKS.indexOf(b) - RANKS.indexOf(a))[0];
    expect({ name, access }).toEqual({ name, access: strictest as typeof access });
    const of_pipeline = calls.every((call) => call.includes(" /api/v1/"));
    expect({ name, part }).toEqual({ name, part: of_pipeline ? "pipeline" : "fleet" });
  }
});

test("every tool has a name, a text and a schema that clients take (rules/mcp#the-tools)", () => {
  const told = TOOLS.map(describeTool);
  expect(new Set(told.map(({ name }) => name)).size).toBe(told.length);
  for (const { name, description, inputSchema, annotations } of told) {
    expect(name).toMatch(/^[a-z][a-z_]{2,40}$/);
    expect(description).toMatch(/\.$/);
    expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    expect(annotations?.title).toMatch(/^[A-Z]/);
  }
  const click = told.find(({ name }) => name === "session_click");
  expect(JSON.stringify(click)).toContain("the last session_snapshot such as ref=e5");
  const hints = (name: string) => {
    const { readOnlyHint, destructiveHint } =
      told.find((one) => one.name === name)?.annotations ?? {};
    return { readOnlyHint, destructiveHint };
  };
  for (const name of ["session_click", "session_evaluate", "session_close", "session_save_profile"])
    expect([name, hints(name)]).toEqual([name, { readOnlyHint: false, destructiveHint: true }]);
  for (const name of ["session_open", "job_submit", "task_enqueue", "session_scroll"])
    expect([name, hints(name)]).toEqual([name, { readOnlyHint: false, destructiveHint: false }]);
  for (const name of ["session_snapshot", "session_dialogs", "job_content", "search"])
    expect([name, hints(name)]).toEqual([name, { readOnlyHint: true, destructiveHint: false }]);
  expect(JSON.stringify(told).length).toBeLessThan(60_000);
});

describe("roles (rules/mcp#roles)", () => {
  for (const transport of ["stdio", "http"] as const)
    test(`over ${transport} a caller is told the tools of its role, and may call no other`, async () => {
      await start({ env: { SVC_ADMIN_PASSWORD: PASSWORD } });
      await tokenOf("admin");
      const { token } = await tokenOf("viewer");
      const viewer = await connect(transport, { token });
      const tools = await viewer.tools();
      expect(tools).toEqual(
        TOOLS.filter(({ access }) => access === "view").map(({ name }) => name),
      );
      expect(tools).toContain("job_list");
      expect((await viewer.use("job_list")).text).toContain('"jobs": []');
      expect(await viewer.refused("session_open", { url: TARGET })).toBe(
        "session_open is not for you: your token has the role viewer",
      );
      const submitter = await connect(transport, { token: (await tokenOf("submitter")).token });
      expect(await submitter.tools()).toContain("job_submit");
      expect(await submitter.tools()).not.toContain("session_click");
      const operator = await connect(transport, { token: (await tokenOf("operator")).token });
      expect(await operator.tools()).toEqual(TOOLS.map(({ name }) => name));
    });

  test("what a tool does is recorded as the caller's, and ends with its token", async () => {
    await start({ env: { SVC_ADMIN_PASSWORD: PASSWORD } });
    const { token: admin } = await tokenOf("admin");
    const { token, token_id } = await tokenOf("operator");
    const agent = await connect("http", { token });
    expect(await agent.refused("session_close", { session_id: "none" })).toContain("404");
    const bearer = { headers: { authorization: `Bearer ${admin}` } };
    const recorded = await until("the call in the audit log", 30_000, async () => {
      const { body } = await hub.call("GET", "/audit?method=DELETE", undefined, bearer);
      return body.entries[0];
    });
    expect(recorded).toMatchObject({
      caller: { kind: "token", name: "operator", role: "operator" },
      address: expect.stringContaining("127.0.0.1"),
      route: "/sessions/:sid",
      status: 404,
    });
    const { body: messages } = await hub.call("GET", "/audit?route=/mcp", undefined, bearer);
    expect(messages.entries).toEqual([]);
    await hub.call("DELETE", `/tokens/${token_id}`, undefined, bearer);
    await until("the end of the token", 30_000, () =>
      agent.use("session_list").then(
        () => false,
        (err: Error) => /401|unauthorized|token/i.test(err.message),
      ),
    );
  });
});

describe("what the tools answer", () => {
  test("a wrong argument is named, an unknown tool is an error of the protocol (rules/mcp#refusals)", async () => {
    await start();
    const agent = await connect("http");
    expect(await agent.refused("job_read", { job_id: "" })).toStartWith("job_id: ");
    expect(await agent.refused("job_submit", { url: "ftp://a" })).toStartWith("url: ");
    expect(await agent.refused("job_list", { nonsense: 1 })).toContain("nonsense");
    expect(agent.use("no_such_tool")).rejects.toThrow("there is no tool no_such_tool");
    expect(await agent.refused("session_wait_for_person", { session_id: "s" })).toContain(
      "call session_hand_over first",
    );
    const busy = await agent.refused("session_open", {});
    expect(busy).toContain("refused with 503");
    expect(busy).toContain("Try again in");
  });

  test("tasks are enqueued, and their state is read (rules/mcp#the-tools)", async () => {
    await start();
    const config = { argv: ["wc"] };
    const workload = { slug: "sizes", executor_type: "command", executor_config: config };
    expect((await hub.call("POST", "/api/v1/workloads", workload)).status).toBe(201);
    const agent = await connect("http");
    expect((await agent.use("workload_list")).text).toContain('"slug": "sizes"');
    const items = [{ pk: "one" }, { pk: "two", extra: { n: 2 } }];
    const enqueued = await agent.use("task_enqueue", { slug: "sizes", items });
    expect(enqueued.text).toBe("2 submitted, 0 duplicates");
    const state = await agent.use("task_status", { slug: "sizes", pks: ["one", "three"] });
    expect(state.text).toStartWith("1 pending, 0 claimed, 0 failed, 1 not in the queue");
    expect((await agent.use("run_list", { slug: "sizes" })).text).toContain('"runs": []');
    expect(await agent.refused("run_read", { run_id: 99 })).toContain("refused with 404");
    expect(await agent.refused("task_enqueue", { slug: "none", items })).toContain("404");
  });

  test("a wait is told as progress, and ends when the client cancels it (rules/mcp#waiting)", async () => {
    await start();
    const agent = await connect("http");
    const submitted = await agent.use("job_submit", { url: TARGET });
    expect(submitted.text).toMatch(/^job \S+: queued/);
    const job_id = /job (\S+):/.exec(submitted.text)?.[1] ?? "";
    const heard = Promise.withResolvers<string>();
    const over = new AbortController();
    const waiting = agent.use(
      "job_read",
      { job_id, wait_s: 600 },
      { onProgress: heard.resolve, signal: over.signal },
    );
    expect(await heard.promise).toStartWith("queued");
    over.abort("enough");
    expect(waiting).rejects.toThrow("enough");
    expect((await agent.use("job_cancel", { job_id })).text).toBe(`job ${job_id}: cancelled`);
  });
});

describe("POST /mcp (rules/mcp#over-http)", () => {
  test("asks for JSON, both types of answers and a session", async () => {
    await start();
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    expect(await send(ping)).toMatchObject({
      status: 400,
      body: { detail: "the header mcp-session-id is required" },
    });
    const unknown = { "mcp-session-id": "nobody.knows" };
    expect(await send(ping, unknown)).toMatchObject({
      status: 404,
      body: { detail: "there is no such session of /mcp: initialize again" },
    });
    expect((await send("{")).status).toBe(400);
    expect((await send({ id: 1 })).status).toBe(400);
    expect((await send([ping])).status).toBe(422);
    expect((await send(ping, { "content-type": "text/plain" })).status).toBe(415);
    expect((await hub.call("POST", "/mcp", ping)).status).toBe(400);
    const get = await hub.call("GET", "/mcp", undefined, { headers: BOTH });
    expect([get.status, get.headers.get("allow")]).toEqual([405, "DELETE, POST"]);
    expect((await hub.call("DELETE", "/mcp", undefined, { headers: unknown })).status).toBe(404);
  });

  test("initialize that is refused takes no place (rules/mcp#sessions-over-http)", async () => {
    await start({ alone: true });
    const { id: _, ...notice } = INITIALIZE;
    const wrong = { ...INITIALIZE, params: { protocolVersion: 5 } };
    for (let n = 0; n < 101; n += 1) {
      expect((await send(notice)).status).toBe(400);
      expect((await send(wrong)).status).toBe(400);
    }
    expect((await send(INITIALIZE)).status).toBe(200);
  });

  test("no page of another origin, and no name that is not the hub's, gets in", async () => {
    await start();
    const foreign = { origin: "http://evil.test", "sec-fetch-site": "cross-site" };
    expect((await send(INITIALIZE, foreign)).status).toBe(403);
    expect((await send(INITIALIZE, { host: "evil.test" })).status).toBe(421);
  });

  test("a session is its caller's alone, and ends with DELETE (rules/mcp#sessions-over-http)", async () => {
    await start({ env: { SVC_ADMIN_PASSWORD: PASSWORD } });
    const bearer = ({ token }: { token: string }) => ({ authorization: `Bearer ${token}` });
    const [one, other] = [bearer(await tokenOf("admin")), bearer(await tokenOf("operator"))];
    expect((await send(INITIALIZE)).status).toBe(401);
    const begun = await send(INITIALIZE, one);
    const id = begun.headers.get("mcp-session-id") ?? "";
    expect(begun).toMatchObject({
      status: 200,
      text: expect.stringContaining('"name":"flotilla"'),
    });
    const session = { "mcp-session-id": id };
    expect((await send(LIST, { ...other, ...session })).status).toBe(404);
    expect((await send(LIST, { ...one, ...session })).text).toContain("session_open");
    const end = (headers: Record<string, string>) =>
      hub.call("DELETE", "/mcp", undefined, { headers: { ...headers, ...session } });
    expect((await end(other)).status).toBe(404);
    expect((await end(one)).status).toBe(200);
    expect((await send(LIST, { ...one, ...session })).status).toBe(404);
  });

  test("a hub that stops ends what agents wait for", async () => {
    await start({ alone: true });
    const agent = await connect("http");
    const submitted = await agent.use("job_submit", { url: TARGET });
    const job_id = /job (\S+):/.exec(submitted.text)?.[1] ?? "";
    const heard = Promise.withResolvers<string>();
    const asked = { job_id, wait_s: 600 };
    const waiting = agent.use("job_read", asked, { onProgress: heard.resolve });
    const ended = waiting.then(
      () => "answered",
      () => "ended",
    );
    await heard.promise;
    await hub.stop();
    await agent.close();
    expect(await ended).toBe("ended");
  });
});

describe("flotilla mcp (rules/mcp#over-standard-input-and-output)", () => {
  const run = (variables: Record<string, string> = {}) =>
    Bun.spawn([...PROGRAM, "mcp", "--hub", hub.url], {
      env: cleanEnv(variables),
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });

  test("before a control plane it offers the tools of the pipeline alone", async () => {
    await start({ mode: "control", alone: true });
    const agent = await connect("stdio");
    const names = TOOLS.filter(({ part }) => part === "pipeline").map(({ name }) => name);
    expect(await agent.tools()).toEqual(names);
    expect((await agent.use("workload_list")).text).toContain('"workloads": []');
    expect(await agent.refused("job_list")).toContain("this server has no browsers");
  });

  test("it is there while the hub is away, and says so", async () => {
    await start({ alone: true });
    await hub.stop();
    const agent = await connect("stdio");
    expect(await agent.tools()).toEqual(TOOLS.map(({ name }) => name));
    expect(await agent.refused("job_list")).toContain("the hub does not answer");
  });

  test("it says on standard error that the hub refuses its token, and how another is made", async () => {
    await start({ alone: true, env: { SVC_API_TOKEN: "a-token-of-the-test" } });
    const served = run({ SVC_API_TOKEN: "flt_wrong" });
    served.stdin.write(`${JSON.stringify(INITIALIZE)}\n${JSON.stringify(LIST)}\n`);
    await served.stdin.end();
    expect(await served.exited).toBe(0);
    const said = await new Response(served.stderr).text();
    expect(said).toMatch(/^flotilla: .*token/);
    expect(said).toContain("flotilla tokens create");
    expect(said).not.toContain("not reachable");
  });

  test("it ends with its input, and fails where a message has no end or nobody reads the answers", async () => {
    await start({ alone: true });
    const say = async ({ stdin }: ReturnType<typeof run>, text: string) => {
      stdin.write(text);
      await stdin.flush();
    };
    const served = run();
    await say(served, `${JSON.stringify(INITIALIZE)}\n`);
    const reader = served.stdout.getReader();
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toContain('"name":"flotilla"');
    await served.stdin.end();
    expect(await served.exited).toBe(0);
    // Nothing but messages is on standard output.
    expect((await reader.read()).done).toBe(true);

    // Of somebody who pipes questions into it and is gone.
    const piped = run();
    piped.stdin.write(`${JSON.stringify(INITIALIZE)}\n${JSON.stringify(LIST)}\n`);
    await piped.stdin.end();
    const answers = (await new Response(piped.stdout).text()).trim().split("\n");
    expect(answers.map((line) => JSON.parse(line).id)).toEqual([1, 2]);
    expect(await piped.exited).toBe(0);

    const endless = run();
    await say(endless, "a".repeat(9 * 1024 * 1024)).catch(() => {});
    expect(await endless.exited).toBe(1);
    expect(await new Response(endless.stderr).text()).toContain("exceeded maximum size");

    const unread = run();
    await unread.stdout.cancel();
    await say(unread, `${JSON.stringify(INITIALIZE)}\n`);
    expect(await unread.exited).toBe(1);
  });
});
