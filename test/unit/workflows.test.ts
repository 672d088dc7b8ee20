import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The forge's workflows run what the repository has, with no more rights than they need. */

const ROOT = join(import.meta.dir, "../..");
const DIR = join(ROOT, ".github/workflows");

interface Step {
  uses?: string;
  run?: string;
}
interface Job {
  permissions?: Record<string, string>;
  "timeout-minutes"?: number;
  steps: Step[];
}
interface Workflow {
  name: string;
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

const workflows = readdirSync(DIR).map((file) => ({
  file,
  read: Bun.YAML.parse(readFileSync(join(DIR, file), "utf8")) as Workflow,
}));
const jobs = workflows.flatMap(({ file, read }) =>
  Object.entries(read.jobs).map(([name, job]) => ({ name: `${file} ${name}`, job })),
);

test("there is a workflow for changes and one for tags, and each job has a limit of time", () => {
  expect(workflows.map(({ file }) => file).sort()).toEqual(["ci.yml", "release.yml"]);
  for (const { name, job } of jobs)
    expect({ name, limit: Number(job["timeout-minutes"]) > 0 }).toEqual({ name, limit: true });
});

test("a workflow may read the repository, and only the release may write", () => {
  for (const { file, read } of workflows)
    expect({ file, may: read.permissions }).toEqual({ file, may: { contents: "read" } });
  const writers = jobs.filter(({ job }) => JSON.stringify(job.permissions ?? {}).includes("write"));
  expect(writers.map(({ name }) => name)).toEqual(["release.yml release"]);
});

test("what a step runs is a shell script that can be read, and names scripts that are there", () => {
  for (const { name, job } of jobs)
    for (const { run = "" } of job.steps) {
      const { exitCode, stderr } = Bun.spawnSync(["sh", "-n"], { stdin: Buffer.from(run) });
      expect({ name, run, exitCode, said: stderr.toString() }).toEqual({
        name,
        run,
        exitCode: 0,
        said: "",
      });
      // Values of the forge come in by the environment: put into a script, they would be code.
      expect(run).not.toContain("${{");
      for (const [path = ""] of run.matchAll(/\.\/scripts\/[a-z-]+/g))
        expect({ path, there: existsSync(join(ROOT, path)) }).toEqual({ path, there: true });
    }
});

test("no action of strangers is used", () => {
  const used = jobs.flatMap(({ job }) => job.steps.flatMap(({ uses }) => uses ?? []));
  for (const uses of used) expect(uses).toMatch(/^actions\/[a-z-]+@v\d+$/);
});
