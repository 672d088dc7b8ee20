import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { edgesThen, frameAt, shownThen } from "#hub/ui/client/pipeline/flow-graph/model.ts";
import type { FlowEdge, FlowSnapshot } from "#shared/protocol/schema/flow.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { addUiWorkload } from "#test/support/rigs/ui-puller.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** The flow graph in the admin UI (rules/pipeline-views#flow-snapshot). */

setDefaultTimeout(180_000);

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

const placeOf = async (id: string) => {
  const { nodes } = await rig.api<FlowSnapshot>("GET", "/api/v1/flow/snapshot");
  return nodes.find((node) => node.id === id)?.position;
};

describe("in the browser", () => {
  test("nodes are placed by the mouse and by keys, saved for everybody, and put back (rules/pipeline-views#flow-layout)", async () => {
    const name = "<img src=x onerror=alert(1)>";
    await addUiWorkload(rig, "g-flow-b", "g-nowhere");
    await addUiWorkload(rig, "g-flow-a", "g-nowhere", { name, emits: ["g-flow-b"] });
    await rig.api("POST", "/api/v1/workloads/g-flow-a/tasks", { pk: "one" });
    const before = await placeOf("workload:g-flow-a");
    await using ui = await rig.open("/ui/pipelines/flow?q=g-flow-a");
    const { page } = ui;
    const node = page.locator('[data-id="workload:g-flow-a"]');
    await node.getByText(name).waitFor();
    await node.getByText("No worker for it").waitFor();
    await page.locator('[data-id="workload:g-flow-b"]').waitFor();
    await ui.judge();

    const at = await node.boundingBox();
    if (!at) throw new Error("the node is not drawn");
    await page.mouse.move(at.x + 30, at.y + 20);
    await page.mouse.down();
    await page.mouse.move(at.x + 90, at.y + 120, { steps: 4 });
    await page.mouse.up();
    await page.getByText("1 moved").waitFor();
    await page.getByRole("button", { name: "Put back" }).click();
    await page.getByText("1 moved").waitFor({ state: "detached" });

    await node.focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Shift+ArrowDown");
    await page.getByText("1 moved").waitFor();
    await page.getByRole("button", { name: "Save layout" }).click();
    await until("the saved place", 60_000, async () => {
      const now = await placeOf("workload:g-flow-a");
      return now !== undefined && before !== undefined && now.y > before.y;
    });
    await page.getByRole("button", { name: "Reset layout" }).click();
    await page.getByRole("button", { name: "Reset it" }).click();
    await until("its first place", 60_000, async () => {
      const now = await placeOf("workload:g-flow-a");
      return now?.y === before?.y;
    });
    await node.focus();
    await page.keyboard.press("Enter");
    await page.waitForURL("**/ui/pipelines/g-flow-a");
  });

  test("the past is gone through by keys and played; the same is there as a table (rules/pipeline-views#flow-rates)", async () => {
    await addUiWorkload(rig, "g-past", "g-nowhere");
    await using ui = await rig.open("/ui/pipelines/flow?q=g-past&view=table");
    const { page } = ui;
    const row = page.getByRole("row", { name: /Workload g-past/ });
    await row.getByText("No worker for it").waitFor();
    await page.getByRole("slider", { name: "Shown minute" }).press("ArrowLeft");
    await row.getByText("quiet").waitFor();
    expect(new URL(page.url()).searchParams.get("at")).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/);
    await ui.judge();
    await page.getByRole("button", { name: "Play" }).click();
    await row.getByText("No worker for it").waitFor();
    await page.getByRole("button", { name: "Play" }).waitFor();
    expect(new URL(page.url()).searchParams.get("at")).toBeNull();
    await page.getByText("Graph", { exact: true }).click();
    await page.locator('[data-id="workload:g-past"]').waitFor();
    await page.getByRole("button", { name: "Fit View" }).click();
    await page.locator('[data-id="workload:g-past"]').click();
    await page.waitForURL("**/ui/pipelines/g-past");
  });
});

describe("a minute of the past", () => {
  const MINUTE = 60_000;
  const points = (...n: number[]) => n.map((count, i): [number, number] => [i * MINUTE, count]);
  const frame = frameAt(
    {
      ...{ since_min: 3, bucket_s: 60 },
      series: [
        { slug: "a", metric: "submitted", points: points(1, 7, 0) },
        { slug: "a", metric: "emitted", points: points(0, 5, 0) },
        { slug: "a", metric: "failed", points: points(0, 2, 0) },
        { slug: "b", metric: "submitted", points: points(0, 4, 0) },
      ],
    },
    MINUTE,
  );
  const edge = (source: string, target: string, kind: FlowEdge["kind"]): FlowEdge => ({
    ...{ id: `${source}>${target}`, source, target, kind, rate_per_min: 99 },
  });

  test("an edge has the rate of its workload, as a bound where it shares it (rules/pipeline-views#flow-snapshot)", () => {
    const edges = [
      edge("source:api", "workload:a", "submit"),
      edge("source:api", "workload:b", "submit"),
      edge("workload:a", "workload:b", "emit"),
      edge("workload:a", "worker:w", "claim"),
    ];
    expect(edgesThen(edges, frame)).toMatchObject([
      { rate_per_min: 7, exact: true },
      { rate_per_min: 4, exact: false },
      { rate_per_min: 4, exact: true },
      { rate_per_min: 0, exact: true },
    ]);
  });

  test("a workload is as healthy as its runs of that minute (rules/pipeline-views#flow-rates)", () => {
    const node = (slug: string) => ({
      ...{ id: `workload:${slug}`, kind: "workload" as const, label: slug },
      ...{ position: { x: 0, y: 0 }, stats: {} },
    });
    expect(shownThen(node("a"), frame)).toMatchObject({ health: "bad", state: "Failing · 100 %" });
    expect(shownThen(node("none"), frame)).toMatchObject({ health: "off", state: "quiet" });
  });
});
