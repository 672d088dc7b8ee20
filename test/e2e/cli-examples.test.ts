import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readGuide } from "#hub/guide/guide-files.ts";
import { TOPICS, type Topic } from "#hub/program/cli/topics.ts";
import { ended, pagesToPaste, type Reader, startReader } from "#test/support/rigs/guide-reader.ts";
import type { Program } from "#test/support/rigs/program.ts";
import { commandBlocks } from "../../scripts/guide-commands.ts";

/**
 * The examples of the command line, which `--help`, the reference and the manual page show, typed line by line by a reader
 * who has made what they name.
 */

setDefaultTimeout(300_000);

/** Types an example into a fresh shell. `own` is what the reader has in the place of its words: `{ JOB: "3f…" }`. */
type Type = (line: string, own?: Readonly<Record<string, string>>) => Program;

let reader: Reader;
beforeAll(async () => {
  reader = await startReader();
  const install = pagesToPaste("Start").find(({ path }) => path === "start/install.md");
  expect(await reader.read(install?.blocks ?? [])).toEqual([]);
});
afterAll(() => reader[Symbol.asyncDispose]());

/** What a shell printed that ended with 0. */
async function printed(shell: Program): Promise<string> {
  const code = await ended(shell);
  const told = code === 0 ? "" : shell.stdout + shell.stderr;
  expect({ code, told }).toEqual({ code: 0, told: "" });
  return shell.stdout;
}
const run = (commands: string): Promise<string> => printed(reader.shell(commands));
const json = async (line: string) => JSON.parse(await run(`flotilla ${line} --output json`));

/** A job that has completed. */
const aJob = async (): Promise<string> =>
  (await json("fetch https://example.com/ --option idle_seconds=0.5")).job.job_id;

/** Its tasks stand still within their output until somebody writes into the pipe `rest`. */
const WAITS = `executor_type: command
executor_config:
  argv: [sh, -c, "echo half a picture; cat $PWD/rest"]`;
const FAILS = `executor_type: bun_module
executor_config:
  code: export function run() { throw new Error("Timeout 30000ms exceeded") }`;

/** The file of a workload, whose tasks are tried once. */
const workloadFile = (slug: string, executor: string) =>
  `cat > ${slug}.yaml <<YAML\nslug: ${slug}\nmax_attempts: 1\n${executor}\nYAML`;
const makeWorkload = (slug: string, executor: string) =>
  run(`${workloadFile(slug, executor)}\nflotilla workloads create -f ${slug}.yaml`);
/** Two tasks of it have failed. */
async function makeFailures(slug: string): Promise<void> {
  await makeWorkload(slug, FAILS);
  await run(`! flotilla submit ${slug} page-1 page-2 --wait`);
}
const removeWorkload = (slug: string) => run(`flotilla workloads delete ${slug} --yes --force`);

async function sessions(type: Type): Promise<void> {
  const { session_id: before } = await json("sessions open --headless");
  await run(`flotilla sessions close ${before}`);
  const opened = await printed(
    type("flotilla sessions open https://example.com/ --option idle_ttl_s=600"),
  );
  expect(opened).toMatch(/^page +Flotilla demo page http/m);
  const [, sid = ""] = /^session +(\S+)$/m.exec(opened) ?? [];
  const past = await printed(type("flotilla sessions list --ended --limit 10"));
  expect(past).toContain(before);
  expect(past).not.toContain(sid);
  const closed = await printed(type("flotilla sessions close ID", { ID: sid }));
  expect(closed).toBe(`session ${sid} closed\n`);
}

async function screenshot(type: Type): Promise<void> {
  const told = await printed(
    type("flotilla screenshot https://example.com/ --full-page -o page.png"),
  );
  expect(told).toMatch(/\/page\.png \(.+\)\n$/);
  expect(await run("head -c 4 page.png | tail -c 3")).toBe("PNG");
}

async function pdf(type: Type): Promise<void> {
  const told = await printed(type("flotilla pdf https://example.com/ --landscape -o page.pdf"));
  expect(told).toMatch(/\/page\.pdf \(.+\)\n$/);
  expect(await run("head -c 5 page.pdf")).toBe("%PDF-");
}

async function retry(type: Type): Promise<void> {
  const job = await aJob();
  const again = await printed(type("flotilla retry JOB", { JOB: job }));
  expect(again).toMatch(new RegExp(`^job ${job} runs again as [0-9a-z]{14}\n$`));

  const slug = "slow-pages";
  await makeFailures(slug);
  const ready = await printed(type("flotilla retry SLUG KEY", { SLUG: slug, KEY: "page-1" }));
  expect(ready).toBe("task page-1 is ready again, with all its attempts\n");
  const preview = await printed(
    type("flotilla retry --workload SLUG --text timeout", { SLUG: slug }),
  );
  // The first has failed once more, or not yet.
  expect(preview).toMatch(/^[12] tasks? to retry\n/);
  expect(preview).toContain(`  ${slug} page-2 (failed)\n`);
  expect(preview).toContain("Nothing is changed yet");
  await removeWorkload(slug);
}

async function workloads(type: Type): Promise<void> {
  await run(workloadFile("thumbnails", WAITS));
  const created = await printed(type("flotilla workloads create -f thumbnails.yaml"));
  expect(created).toBe("workload thumbnails created\n");
  const paused = await printed(type("flotilla workloads pause thumbnails"));
  expect(paused).toStartWith("workload thumbnails paused");
  expect(await json("workloads show thumbnails")).toMatchObject({ enabled: false });
  await removeWorkload("thumbnails");
}

async function tasks(type: Type): Promise<void> {
  await makeFailures("thumbnails");
  const failed = await printed(type("flotilla tasks list thumbnails --state failed"));
  for (const key of ["page-1", "page-2"])
    expect(failed).toMatch(new RegExp(`^${key} +failed +1/1 .*Timeout 30000ms`, "m"));
  const cancelled = await printed(type("flotilla tasks cancel thumbnails page-1 page-2"));
  expect(cancelled).toBe("task page-1 cancelled\ntask page-2 cancelled\n");
  expect(await run("flotilla tasks list thumbnails")).toBe("no tasks\n");
  await removeWorkload("thumbnails");
}

/** What the hub warns of when it is done. */
const steerUpdates = (words: string) => run(`SVC_ADMIN_PASSWORD=$ADMIN flotilla fleet ${words}`);

async function logs(type: Type): Promise<void> {
  const { retried_as: running } = await json(`retry ${await aJob()}`);
  const events = await printed(type("flotilla logs JOB -f", { JOB: running }));
  expect(events).toMatch(/ INFO +completed\n$/);

  // The task goes on once its first words were seen.
  await makeWorkload("thumbnails", WAITS);
  await run("mkfifo rest; flotilla submit thumbnails page-1");
  const followed = type("flotilla logs thumbnails page-1 -f");
  await followed.says("half a picture\n");
  await run("echo and the rest > rest");
  expect(await printed(followed)).toBe("half a picture\nand the rest\n");
  expect(followed.stderr).toMatch(/^run \d+: success after /m);
  await removeWorkload("thumbnails");

  // That of the services has no end, so the reader presses Ctrl-C.
  await steerUpdates("pause-updates");
  const services = type("flotilla logs -f --level warn");
  await services.says("updates are paused");
  await steerUpdates("pin off");
  await services.says("a pin was taken away");
  services.kill("SIGINT");
  expect({ code: await ended(services), err: services.stderr }).toEqual({ code: 130, err: "" });
  for (const line of services.stdout.trim().split("\n")) expect(line).toMatch(/ (WARN|ERROR) /);
  await steerUpdates("resume-updates");
}

/** Fewer jobs and sessions than the examples have, because those take minutes. */
async function bench(type: Type): Promise<void> {
  const usual = await printed(type("flotilla bench --jobs 50 --sessions 10", { 50: "2", 10: "1" }));
  expect(usual).toMatch(/^job, submitted to ended +2 +[\d.]+ ms/m);
  expect(usual).toMatch(/^session, opened at a page +1 +[\d.]+ ms/m);
  expect(usual).toMatch(/^tasks, 16 claimed and reported +\d+ +[\d.]+ ms/m);
  const site = await printed(
    type("flotilla bench --jobs 20 --url https://example.com/", { 20: "1" }),
  );
  expect(site).toMatch(/^job, submitted to ended +1 +[\d.]+ ms/m);
  expect((await json("jobs --label made_by:flotilla-bench")).jobs).toEqual([]);
}

async function completions(type: Type): Promise<void> {
  // As in a home that is new.
  await run("[ ! -e ~/.local/share ]");
  await printed(type("mkdir -p ~/.local/share/bash-completion/completions"));
  await printed(
    type("flotilla completions bash > ~/.local/share/bash-completion/completions/flotilla"),
  );
  const offered = await run(`source ~/.local/share/bash-completion/completions/flotilla
    complete -p flotilla
    COMP_WORDS=(flotilla sess); COMP_CWORD=1
    _flotilla
    echo "\${COMPREPLY[@]}"`);
  expect(offered).toBe("complete -F _flotilla flotilla\nsessions\n");
}

/** Who types the examples of a topic. */
const BY_TOPIC: Partial<Record<Topic["name"], (type: Type) => Promise<void>>> = {
  sessions,
  screenshot,
  pdf,
  retry,
  workloads,
  tasks,
  logs,
  bench,
  completions,
};

const WITH_EXAMPLES = TOPICS.filter(({ examples }) => examples.length > 0);

test("the reference shows the examples of every topic, and nothing else to paste", () => {
  const shown = commandBlocks(readGuide().get("reference/cli.md") ?? "").flatMap(({ commands }) =>
    commands.trimEnd().split("\n"),
  );
  expect(shown).toEqual(WITH_EXAMPLES.flatMap(({ examples }) => examples));
  expect(WITH_EXAMPLES.map(({ name }) => name)).toEqual(Object.keys(BY_TOPIC) as Topic["name"][]);
});

for (const { name, examples } of WITH_EXAMPLES)
  test(`flotilla ${name}: every example does what it says`, async () => {
    const typed: string[] = [];
    await BY_TOPIC[name]?.((line, own = {}) => {
      typed.push(line);
      const words = line.split(" ").map((word) => own[word] ?? word);
      return reader.shell(words.join(" "));
    });
    expect(typed).toEqual([...examples]);
  });
