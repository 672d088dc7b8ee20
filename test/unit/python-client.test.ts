import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createClient } from "#shared/client/index.ts";
import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import { ROOT } from "../../scripts/build.ts";

/** The addresses of the Python client are written by hand: each is an operation of the API (rules/clients#one-method-for-each-action). */

interface Method {
  room: string;
  name: string;
  /** Method and path of each call that it makes. */
  calls: [method: string, path: string][];
}

interface Operation {
  method: string;
  path: RegExp;
  query: string[];
}

const methods: Method[] = [];
beforeAll(async () => {
  const caller = join(ROOT, "test/support/clients/record_python_calls.py");
  const PYTHONPATH = join(ROOT, "clients/python");
  const python = Bun.spawn(["python3", "-B", caller], {
    env: { ...process.env, PYTHONPATH },
    stderr: "inherit",
  });
  methods.push(...((await new Response(python.stdout).json()) as Method[]));
}, 60_000);

/** As the file that `bun run gen` writes has them: their types are all that the program itself needs. */
function operations(): Operation[] {
  const text = readFileSync(join(ROOT, "shared/client/operations.gen.ts"), "utf8");
  return [...text.matchAll(/^ {2}"([A-Z]+) ([^"]+)": \{\n([\s\S]*?)^ {2}\};/gm)].map(
    ([, method = "", path = "", fields = ""]) => {
      const [, query = ""] = /^ {4}query\??: \{ (.*) \};$/m.exec(fields) ?? [];
      const parts = path
        .split(/\{\w+\}/)
        .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
      return {
        method,
        path: new RegExp(`^${parts.join("[^/?]+")}$`),
        query: [...query.matchAll(/(\w+)\??:/g)].map(([, name = ""]) => name),
      };
    },
  );
}

test("every method goes to an operation of the API, with parts of its path encoded and a query that it knows", () => {
  const known = operations();
  expect(known.length).toBeGreaterThan(150);
  expect(methods.length).toBeGreaterThan(100);
  for (const { room, name, calls } of methods) {
    if (name === "act") continue;
    expect({ room, name, calls: calls.length }).not.toEqual({ room, name, calls: 0 });
    for (const [method, address] of calls) {
      const [path = "", query = ""] = address.split("?");
      const found = known.filter((one) => one.method === method && one.path.test(path));
      expect({ room, name, address, found: found.length > 0 }).toMatchObject({ found: true });
      const strange = [...new URLSearchParams(query).keys()].filter(
        (key) => !found.some((one) => one.query.includes(key)),
      );
      expect({ room, name, strange }).toEqual({ room, name, strange: [] });
    }
  }
});

/** What is named otherwise: `import` is a word of Python's own, and TypeScript leaves files to its caller. */
const OTHERWISE: Record<string, string> = {
  "jobs.import_archive": "import",
  "jobs.save": "download",
};

test("methods have the names that the TypeScript client gives them", () => {
  const client: Record<string, unknown> = { ...createClient({ base_url: "http://hub.test" }) };
  const camel = (name: string) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
  for (const { room, name } of methods) {
    if (room === "session") continue;
    const theirs = OTHERWISE[`${room}.${name}`] ?? camel(name);
    const has = Object.hasOwn(Object(client[room]), theirs);
    expect({ room, name, has }).toEqual({ room, name, has: true });
  }
});

test("an open session has every action, and the calls of the TypeScript client's but for CDP", () => {
  const names = new Set(methods.filter(({ room }) => room === "session").map(({ name }) => name));
  const calls = ["state", "cookies", "put_cookies", "clear_cookies", "network", "files", "file"];
  const rest = ["record_input", "recorded_input", "save_profile", "close", "act"];
  expect([...names].toSorted()).toEqual(
    [...Object.keys(SESSION_ACTIONS), ...calls, ...rest].toSorted(),
  );
});

/** A 200 of a server that ends the connection after it. */
async function answering(text: string) {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(text.replaceAll("\n", "\r\n")));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

const SAID = `
import sys
from flotilla import FlotillaError, create_client
hub = create_client(sys.argv[1])
try:
    print("no error:", hub.jobs.save("j", "a.bin", "/dev/null") if sys.argv[2] == "save" else hub.jobs.get("j"))
except FlotillaError as err:
    print(err.status, err, end="")
`;

async function said(answer: string, what: "save" | "get"): Promise<string> {
  await using server = await answering(answer);
  const python = Bun.spawn(["python3", "-B", "-c", SAID, server.url, what], {
    env: { ...process.env, PYTHONPATH: join(ROOT, "clients/python") },
    stderr: "inherit",
  });
  return await new Response(python.stdout).text();
}

test("a file that breaks off is an error, not a short file", async () => {
  const type = "HTTP/1.1 200 OK\nContent-Type: application/octet-stream\n";
  const cut = await said(`${type}Content-Length: 100\n\nabc`, "save");
  expect(cut).toBe("0 the answer broke off: IncompleteRead(0 bytes read, 97 more expected)");
  const piece = await said(`${type}Transfer-Encoding: chunked\n\n64\nabc`, "save");
  expect(piece).toStartWith("0 the answer broke off: ");
  const whole = await said(`${type}Content-Length: 3\n\nabc`, "save");
  expect(whole).toBe("no error: None\n");
});

test("a success that is not JSON, or only its beginning, is an error", async () => {
  const page = await said("HTTP/1.1 200 OK\nContent-Type: text/html\n\n<b>router</b>", "get");
  expect(page).toBe("200 the answer is not JSON: <b>router</b>");
  const cut = await said('HTTP/1.1 200 OK\nContent-Length: 90\n\n{"job_id":', "get");
  expect(cut).toStartWith("0 GET /jobs/j failed: IncompleteRead");
});
