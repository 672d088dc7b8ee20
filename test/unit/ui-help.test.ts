import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";
import { parsePage } from "#hub/guide/markdown.ts";
import { FIELDS as OPTIONS } from "#hub/ui/client/fleet/options/fields.ts";
import { RULES as SESSION } from "#hub/ui/client/fleet/session/new-session.ts";
import { HELPED, type HelpedBody, headingOf } from "#hub/ui/client/forms/guide-headings.ts";
import type { Rules } from "#hub/ui/client/forms/rules.ts";
import { rulesOf } from "#hub/ui/client/forms/rules-macro.ts";
import {
  ALL_FIELDS,
  rulesAt,
  RULES as WORKLOAD,
} from "#hub/ui/client/pipeline/workload/form/fields.ts";
import { FLEET_NAMES } from "#hub/ui/client/system/setting-names.ts";

/** What forms say beside each field: a sentence, and where the guide says more (rules/web-app#forms-of-the-app). */

const GUIDE = join(import.meta.dir, "../../hub/guide");
const anchorsOf = async (page: string): Promise<string[]> =>
  parsePage(await Bun.file(join(GUIDE, `${page}.md`)).text()).flatMap((token) =>
    token.type === "heading_open" ? [String(token.attrGet("id"))] : [],
  );

const bodies = Object.keys(HELPED) as HelpedBody[];
const named = bodies.flatMap((body) =>
  Object.entries(HELPED[body]).map(([field, heading]) => [body, field, heading] as const),
);

test("every heading that a field leads to is in the guide", async () => {
  const pages = new Map<string, string[]>();
  for await (const path of new Glob("**/*.md").scan(GUIDE)) {
    const page = path.replace(/\.md$/, "");
    pages.set(page, await anchorsOf(page));
  }
  const lost = named.filter(([, , heading]) => {
    const [page = "", anchor = ""] = heading.split("#");
    return !pages.get(page)?.includes(anchor);
  });
  expect(named.length).toBeGreaterThan(80);
  expect(lost).toEqual([]);
});

describe("no heading is for a field that no form has", () => {
  const KNOWN: Partial<Record<HelpedBody, string[]>> = {
    JobOptions: OPTIONS.map(({ name }) => name),
    CreateSession: Object.keys(SESSION),
    WorkloadUpdate: Object.keys(WORKLOAD),
    PutHost: Object.keys(rulesOf("PutHost")),
    FleetSettings: Object.keys(FLEET_NAMES),
  };
  test.each(Object.entries(KNOWN))("%s", (body, fields) => {
    const own = Object.keys(HELPED[body as HelpedBody]).filter((field) => field !== "*");
    expect(own.filter((field) => !fields.includes(field))).toEqual([]);
  });
});

test("every option of a job, every setting of a workload and every field of a session says what it does", () => {
  expect(OPTIONS.filter(({ description }) => description === "")).toEqual([]);
  const silent = ALL_FIELDS.filter((field) => !field.hint && !rulesAt(field).description);
  expect(silent.map(({ path }) => path)).toEqual([]);
  // Those without words of the form's own.
  const rules: Rules = SESSION;
  const asked = ["headless", "worker_id", "idle_ttl_s", "ttl_s", "egress", "proxy", "replay_clock"];
  expect(asked.filter((field) => !rules[field]?.description)).toEqual([]);
});

test("a part of a field leads where the whole does, and a field without a heading where its body does", () => {
  expect(headingOf("WorkloadUpdate", "backoff.base_s")).toBe("rules/pipeline-queue#backoff");
  expect(headingOf("WorkloadUpdate", "executor_config.init_kwargs")).toBe(
    "rules/pipeline-workloads#executor-configuration",
  );
  expect(headingOf("CreateSession", "viewport.width")).toBe("rules/sessions#open-a-session");
  expect(headingOf("PipelineSettings", "log_level")).toBe("rules/pipeline-operations#settings");
});
