import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const api = (method: string, path: string, body?: unknown) =>
  hub.call(method, `/api/v1${path}`, body);
let made = 0;
async function create(): Promise<string> {
  const slug = `import-${++made}`;
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  expect((await api("POST", "/workloads", { slug, ...command })).status).toBe(201);
  return slug;
}
// biome-ignore lint/suspicious/noExplicitAny: every test looks at what it expects
type Answered = any;
async function send(
  slug: string,
  file: string | Uint8Array<ArrayBuffer>,
  query = "",
  type = "text/csv",
) {
  const answer = await fetch(`${hub.url}/api/v1/workloads/${slug}/tasks/import${query}`, {
    method: "POST",
    body: file,
    headers: { "content-type": type },
  });
  return { status: answer.status, body: (await answer.json()) as Answered };
}
const queued = async (slug: string) =>
  (await api("GET", `/workloads/${slug}/queue/peek?limit=200`)).body.rows.map(
    ({ pk, extra }: { pk: string; extra: unknown }) => ({ pk, extra }),
  );

describe("a CSV file (rules/pipeline-import#csv)", () => {
  test("becomes a task per row: quotes, commas, line breaks in cells, a byte order mark and CRLF", async () => {
    const slug = await create();
    const file =
      '\ufeffid,url,"title, long"\r\n7,https://a.example,"He said ""no"", twice"\r\n8,,"two\nlines"\r\n\r\n';
    const { status, body } = await send(slug, file);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      dry_run: false,
      format: "csv",
      columns: ["id", "url", "title, long"],
      key: "id",
      rows: 2,
      submitted: 2,
      duplicates: 0,
      faults: [],
      fault_count: 0,
    });
    expect(await queued(slug)).toEqual([
      { pk: "7", extra: { url: "https://a.example", "title, long": 'He said "no", twice' } },
      { pk: "8", extra: { url: "", "title, long": "two\nlines" } },
    ]);
  });

  test("has its key and its columns named, in both ways, and typed where that is asked for", async () => {
    const slug = await create();
    const file = "id;breite;ok;leer\na;12;true;\nb;1e3;x;007\n";
    await send(slug, file, "?key=id&columns=breite=width,ok&typed=true");
    expect(await queued(slug)).toEqual([
      { pk: "a", extra: { width: 12, ok: true } },
      { pk: "b", extra: { width: 1000, ok: "x" } },
    ]);
    const columns = encodeURIComponent(JSON.stringify({ leer: "a,b" }));
    await send(slug, "id\tleer\nc\t007\n", `?columns=${columns}`);
    expect((await queued(slug)).at(-1)).toEqual({ pk: "c", extra: { "a,b": "007" } });
    const { status, body } = await send(slug, file, "?key=nope");
    expect([status, body.detail[0].loc]).toEqual([422, ["query", "key"]]);
    expect((await send(slug, file, "?columns=id,nope")).body.detail[0].loc).toEqual([
      "query",
      "columns",
    ]);
    expect((await send(slug, file, "?columns={")).status).toBe(422);
  });

  test("with a fault submits nothing, and names every faulty line as an editor counts them", async () => {
    const slug = await create();
    const file = `pk,a\none,"x\ny"\ntwo\n,1\nlong,\u0000\n${"k".repeat(1_100)},1\n`;
    const { status, body } = await send(slug, file);
    expect(status).toBe(422);
    expect(
      body.detail.map((one: { loc: unknown[]; msg: string }) => [one.loc.at(-1), one.msg]),
    ).toEqual([
      ["body", "nothing was submitted"],
      [4, "has 1 cells, but the header has 2"],
      [5, "pk, its key, is empty"],
      [7, expect.stringContaining("pk: ")],
    ]);
    expect(await queued(slug)).toEqual([]);
    const skipped = await send(slug, file, "?skip_faults=true");
    expect(skipped.body).toMatchObject({ submitted: 2, fault_count: 3 });
  });

  test("whose quote does not end, whose header is wrong, or that is no UTF-8, is refused in words", async () => {
    const slug = await create();
    const refused = async (file: string | Uint8Array<ArrayBuffer>) => {
      const { status, body } = await send(slug, file);
      expect(status).toBe(422);
      return body.detail.map(({ msg }: { msg: string }) => msg).join(" ");
    };
    expect(await refused('pk,a\none,"x\ntwo,3\n')).toContain("Quote");
    expect(await refused("pk,a,a\n1,2,3\n")).toContain("two columns have the name a");
    expect(await refused("pk,\n1,2\n")).toContain("column 2 has no name");
    expect(await refused(new Uint8Array([0x70, 0x6b, 10, 0xff, 0xfe]))).toContain("UTF-8");
    expect(await queued(slug)).toEqual([]);
  });
});

describe("a file of JSON lines (rules/pipeline-import#jsonl)", () => {
  const ndjson = "application/x-ndjson";

  test("has tasks as they are submitted one by one, keys alone, or objects with a key", async () => {
    const slug = await create();
    const tasks = '{"pk":"a","extra":{"n":1},"priority":5}\r\n\n"b"\n{"pk":"c"}';
    expect((await send(slug, tasks, "", ndjson)).body).toMatchObject({ rows: 3, submitted: 3 });
    const objects = '{"id":17,"url":"u","deep":{"a":[1]}}\n{"id":18}\n';
    const { body } = await send(slug, objects, "?key=id", ndjson);
    expect(body).toMatchObject({ columns: ["id", "url", "deep"], key: "id", submitted: 2 });
    const found = await queued(slug);
    expect(found).toContainEqual({ pk: "17", extra: { url: "u", deep: { a: [1] } } });
    expect(found).toContainEqual({ pk: "18", extra: null });
  });

  test("names the lines that are no objects, or not JSON, or nested too deeply", async () => {
    const slug = await create();
    const deep = `{"pk":"x","extra":{"a":${"[".repeat(600)}${"]".repeat(600)}}}`;
    const file = `{"pk":"a"}\n[1]\n{oops\n${deep}\n{"pk":"b","no":1}\n`;
    const { body } = await send(slug, file, "?dry_run=true", ndjson);
    expect(body.faults.map(({ line }: { line: number }) => line)).toEqual([2, 3, 4, 5]);
    expect(body).toMatchObject({ fault_count: 4, rows: 5 });
  });
});

describe("a dry run (rules/pipeline-import#dry-run)", () => {
  test("shows the first tasks and counts duplicates in the queue and in the file, and submits nothing", async () => {
    const slug = await create();
    await api("POST", `/workloads/${slug}/tasks`, { pk: "k1" });
    const rows = Array.from({ length: 30 }, (_, i) => `k${i},${i}`).join("\n");
    const file = `pk,n\n${rows}\nk2,again\n`;
    const { body } = await send(slug, file, "?dry_run=true&preview=3");
    expect(body).toMatchObject({ dry_run: true, rows: 31, submitted: 0, duplicates: 2 });
    expect(body.tasks).toEqual([0, 1, 2].map((i) => ({ pk: `k${i}`, extra: { n: `${i}` } })));
    expect(await queued(slug)).toHaveLength(1);
    expect((await send(slug, file)).body).toMatchObject({ submitted: 29, duplicates: 2 });
  });
});

test("batches are whole: a fault in the second leaves the first, and says so (rules/pipeline-import#batches)", async () => {
  const slug = await create();
  const keys = Array.from({ length: 10_500 }, (_, i) => (i === 10_200 ? "" : `k${i}`));
  const rows = keys.map((key) => `${key},1`).join("\n");
  const { status, body } = await send(slug, `pk,n\n${rows}\n`);
  expect(status).toBe(422);
  expect(body).toMatchObject({ submitted: 10_000, fault_count: 1 });
  expect(body.detail[0].msg).toContain("10000 tasks of earlier lines were submitted");
  expect(body.detail[1].loc).toEqual(["body", "line", 10_202]);
  const fixed = await send(slug, `pk,n\n${rows.replace("\n,1", "\nk10200,1")}\n`);
  expect(fixed.body).toMatchObject({ submitted: 500, duplicates: 10_000 });
});

test("a file that is too large, of another type, empty, or for nobody is refused (rules/pipeline-import#import-a-file)", async () => {
  const slug = await create();
  expect((await send(slug, "pk\na\n", "", "text/plain")).status).toBe(415);
  expect((await send(slug, "pk\na\n", "?format=csv", "text/plain")).body.submitted).toBe(1);
  expect((await send("nobody", "pk\na\n")).status).toBe(404);
  expect((await send(slug, "pk\na\n", "?preview=9999")).status).toBe(422);
  expect((await send(slug, "")).body).toMatchObject({ rows: 0, submitted: 0, columns: [] });
  const large = `pk,a\n${`k,${"x".repeat(1_000)}\n`.repeat(68_000)}`;
  expect((await send(slug, large)).status).toBe(413);
  const line = `"${"x".repeat(3 * 1024 * 1024)}"\n`;
  expect((await send(slug, line, "", "application/x-ndjson")).status).toBe(422);
  expect((await send(slug, `pk\n${line}`)).status).toBe(422);
});
