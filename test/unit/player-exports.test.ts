import { expect, test } from "bun:test";
import { filesOf } from "#hub/ui/client/fleet/player/model/exports.ts";

/** What the player's menu offers beside videos (rules/recordings#the-player). */

const hrefs = (run: Parameters<typeof filesOf>[0]) => filesOf(run).map(({ href }) => href);

test("a job offers its requests and its web archives, and a trace where it leaves one", () => {
  const run = { of: { kind: "job", id: "j1" }, job_id: "j1", trace: false } as const;
  const files = ["/jobs/j1/har.json", "/jobs/j1/archive.wacz", "/jobs/j1/archive.warc.gz"];
  expect(hrefs(run)).toEqual(files);
  expect(hrefs({ ...run, trace: true })).toEqual([...files, "/jobs/j1/trace.zip"]);
});

test("a session offers its requests and its trace, and a job's session leaves the requests to the job", () => {
  const of = { kind: "session", id: "s1" } as const;
  const both = ["/sessions/s1/har.json", "/sessions/s1/trace.zip"];
  expect(hrefs({ of, job_id: null, trace: true })).toEqual(both);
  expect(hrefs({ of, job_id: "j1", trace: false })).toEqual([]);
});

test("each is saved under a name that tells the run and the kind of file", () => {
  const files = filesOf({ of: { kind: "job", id: "j1" }, job_id: "j1", trace: true });
  expect(files.map(({ download }) => download)).toEqual([
    "j1-har.json",
    "flotilla-j1.wacz",
    "flotilla-j1.warc.gz",
    "flotilla-j1-trace.zip",
  ]);
});
