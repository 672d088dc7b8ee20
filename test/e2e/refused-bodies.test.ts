import { afterAll, beforeAll, expect, test } from "bun:test";
import { type JobLane, openJobLane } from "#test/support/lane-jobs.ts";
import { sha256 } from "#test/support/site/bytes.ts";
import { type RefusedSite, startRefusedSite } from "#test/support/site/refused.ts";

let site: RefusedSite;
let lane: JobLane;
beforeAll(async () => {
  [site, lane] = await Promise.all([startRefusedSite(), openJobLane()]);
}, 30_000);
afterAll(async () => {
  await lane.close();
  await site.stop();
});

test("every answer with a body is counted: kept, or lost with the reason (api.md, CaptureReport)", async () => {
  const { outcome, assets, log } = await lane.run({ url: site.url, options: { idle_seconds: 2 } });
  const held = new Map(assets.map((a) => [a.source_url, a.sha256]));
  const missing = [...site.readable].filter(
    ([url, text]) => held.get(url) !== sha256(Buffer.from(text)),
  );
  expect({ missing, log: missing.length > 0 ? log : [] }).toEqual({ missing: [], log: [] });
  const lost = log.flatMap((line) => /^warn capture: lost (\S+): protected/.exec(line)?.[1] ?? []);
  expect(lost.sort()).toEqual(site.withheld.sort());
  expect(outcome.capture).toMatchObject({
    seen: site.readable.size + 1 + site.withheld.length,
    captured: site.readable.size + 1,
    partial: 0,
    reasons: { protected: site.withheld.length },
  });
});

test("a document that asks for a password is kept like any other", async () => {
  const url = `${site.origins.main}/password`;
  const { outcome, assets } = await lane.run({ url });
  expect(outcome.http_status).toBe(401);
  expect(assets.map((a) => a.source_url)).toContain(url);
});
